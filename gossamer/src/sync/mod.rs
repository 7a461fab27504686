//! Channels, notifications, semaphores, barriers and locks: for fibers, threads and async tasks alike.
//!
//! Names and semantics are those of `tokio::sync`, on whose types these are built: fair, first come, first served,
//! and without an allocation if nobody has to wait. Each waiting call works in three ways: in a fiber, `recv()` lets
//! the other fibers of its worker run; on a thread that is not a worker, it blocks the thread; and `recv_async()` is
//! a future for [`select!`](crate::select), [`timeout`](crate::timeout), [`block_on`](crate::block_on) and async code
//! of any runtime.
//!
//! | | |
//! |---|---|
//! | [`mpsc`] | a queue with many senders and one receiver, bounded or not |
//! | [`oneshot`] | one value, once |
//! | [`broadcast`] | every receiver gets every value |
//! | [`watch`] | the latest value, and notification of changes |
//! | [`Notify`] | a wake-up without a value |
//! | [`Semaphore`] | a limit on how many run at once |
//! | [`Barrier`] | everybody waits until all have arrived |
//! | [`Mutex`], [`RwLock`] | exclusive access to a value, which may be held across blocking calls |
//!
//! Each is a handle: a clone is the same channel or lock. Handles travel to other fibers of their node, as captures
//! of [`spawn`](crate::spawn) or in a property; like sockets they stay on it: sending one to another node is an error
//! that names the type. `spawn` starts a fiber that captures a handle on this node, so a pipeline of fibers with
//! channels between them runs on the workers of one node. Between nodes use a [`Trust`](crate::Trust) with a queue in
//! it, a [`DistQueue`](crate::collections::DistQueue), or [`stream::channel`](crate::stream::channel).
//!
//! # Which to use
//! Data that several workers use belongs in a property: a [`Trust`](crate::Trust) needs no lock, cannot deadlock (only
//! a [`Latch`](crate::Latch) can), and works on every node. This module is for coordinating fibers: handing work on,
//! limiting what runs at once, announcing an end to everybody.
//!
//! # Panics
//! Calls that wait panic in a delegated closure or a callback, as every blocking call does there; `try_…`, and `send`
//! on an unbounded queue, do not wait. Code of the program that these calls run (a value's `clone`, a closure of
//! [`watch`]) must not suspend the fiber, and panics if it tries to.
#![deny(unsafe_code)]

mod barrier;
pub mod broadcast;
pub mod mpsc;
mod mutex;
mod notify;
pub mod oneshot;
mod rwlock;
mod semaphore;
mod travel;
pub mod watch;

pub use barrier::{Barrier, BarrierWaitResult};
pub use mutex::Mutex;
pub use notify::Notify;
pub use rwlock::RwLock;
pub use semaphore::{Permit, Semaphore};
pub use tokio::sync::{
    AcquireError, MutexGuard, RwLockReadGuard, RwLockWriteGuard, TryAcquireError, TryLockError,
};

use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::trust::without_suspending;
use crate::worker::fibers::wake::{self, block_on_in_turn};
use std::future::{Future, poll_fn};
use std::pin::pin;

/// Waits for a future of tokio as a fiber or a thread.
#[track_caller]
fn wait<F: Future>(future: F, call: &'static str) -> F::Output {
    wait_as(future, Wait::in_call(call).on(WaitsOn::Others))
}

/// Like `wait`, with a description of what is awaited.
#[track_caller]
fn wait_as<F: Future>(future: F, wait: Wait) -> F::Output {
    block_on_in_turn(steady(future), wait)
}

/// A future of tokio for any executor.
async fn awaited<F: Future>(future: F, call: &'static str) -> F::Output {
    wake::awaited(steady(future), call).await
}

/// A future may call the program's code under a lock of tokio, where it must not be suspended.
async fn steady<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| without_suspending(|| future.as_mut().poll(context))).await
}
