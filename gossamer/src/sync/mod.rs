//! Channels, notifications, semaphores, barriers and locks: for fibers, threads and async tasks alike.
//!
//! Names and meaning are those of `tokio::sync`, whose types are inside: fair, first come, first served, and without an allocation
//! where nobody has to wait. A call that waits is here three times over: `recv()` in a fiber lets the others of its worker run
//! meanwhile, on a thread that is no worker it blocks the thread, and `recv_async()` is a future for [`select!`](crate::select),
//! [`timeout`](crate::timeout), [`block_on`](crate::block_on) and async code of any runtime.
//!
//! | | |
//! |---|---|
//! | [`mpsc`] | a queue with many senders and one receiver, bounded or not |
//! | [`oneshot`] | one value, once |
//! | [`broadcast`] | every receiver gets every value |
//! | [`watch`] | the latest value, and that it has changed |
//! | [`Notify`] | a wake-up without a value |
//! | [`Semaphore`] | at most so many at once |
//! | [`Barrier`] | all go on when all have come |
//! | [`Mutex`], [`RwLock`] | a value for one at a time, held also over blocking calls |
//!
//! Each is a handle: a clone is the same channel or lock. Handles travel to other fibers of their node, as captures of
//! [`spawn`](crate::spawn) or in a property; like sockets they stay in it: sending one to another node is an error that names the
//! type. Between nodes use a [`Trust`](crate::Trust), or [`stream::channel`](crate::stream::channel).
//!
//! # Which to use
//! Data that several workers use belongs in a property: a [`Trust`](crate::Trust) needs no lock, cannot deadlock, and works on every
//! node. What is here is for the order in which fibers do things: work that is handed on, a bound on what runs at once, an end that
//! all have to hear of.
//!
//! # Panics
//! What waits panics in a delegated closure or a callback, as every blocking call there; `try_…` and `send` of what has no bound do
//! not wait. What it calls of the program meanwhile (a value's `clone`, a closure of [`watch`]) must not suspend the fiber, and
//! panics if it does.
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

use crate::sys::fibers::wait::Wait;
use crate::trust::without_suspending;
use crate::worker::fibers::wake::{self, block_on_in_turn};
use std::future::{Future, poll_fn};
use std::pin::pin;

/// Waits for a future of tokio as a fiber or a thread.
#[track_caller]
fn wait<F: Future>(future: F, call: &'static str) -> F::Output {
    wait_as(future, Wait::in_call(call))
}

/// As `wait`, where more is known of what is awaited.
#[track_caller]
fn wait_as<F: Future>(future: F, wait: Wait) -> F::Output {
    block_on_in_turn(steady(future), wait)
}

/// A future of tokio for any executor.
async fn awaited<F: Future>(future: F, call: &'static str) -> F::Output {
    wake::awaited(steady(future), call).await
}

/// Code of the program that a future calls may run under a lock of tokio: it must not be suspended there.
async fn steady<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| without_suspending(|| future.as_mut().poll(context))).await
}
