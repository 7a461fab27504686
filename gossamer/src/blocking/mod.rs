//! Blocking work: [`unblock`] runs it on a thread of a pool, while the fiber waits and its worker goes on.
#![deny(unsafe_code)]

pub(crate) mod pool;

use crate::lane::context::{self, Context as Caller};
use crate::structures::oneshot::{self, OneshotReceiver};
use crate::sys::threads::outside;
use crate::worker;
use crate::worker::fibers::wake::{block_on, poll_or_wait};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Runs `f`, which may block, on a thread of a pool, and returns its result. The fiber waits; its worker goes on.
///
/// Use it for blocking calls of the system and of libraries that do not know fibers: files ([`fs`](crate::fs) has the
/// calls of `std`), a database, a compression. `f` may capture anything that is `Send`, and runs on a thread with 2
/// MiB of stack.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let bytes = vec![3_u8, 1, 2];
/// let sorted = gossamer::unblock(move || {
///     let mut bytes = bytes;
///     bytes.sort(); // long enough, in earnest, to keep the worker from its other fibers
///     bytes
/// });
/// assert_eq!(sorted, [1, 2, 3]);
/// # });
/// ```
///
/// On a thread that is not a worker, which may block, `f` is simply called; so `unblock` may also be used inside `f`.
///
/// # The pool
/// The process has one pool. Its threads are named `gossamer-pool`, run on all processors that the process may use,
/// are started as needed, up to [`Config::blocking_threads`](crate::Config::blocking_threads), and end after five
/// seconds without work. Beyond that limit, work waits, first come, first served.
///
/// # The end
/// When `main` returns, a fiber that waits here is cancelled, as in every blocking call. The work itself is not: it
/// goes on, and is cut off when the process ends. Let `main` join what has to be finished.
///
/// # Cost
/// Two switches between threads: some 20 µs. So hand over a whole file, not line by line.
///
/// # Panics
/// If `f` panics, with its payload; in a delegated closure or a callback, which cannot wait; and if the pool has no thread and the
/// system refuses the first.
#[track_caller]
pub fn unblock<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    match unblock_as("unblock", f) {
        Ok(result) => result,
        Err(error) => panic!("{error}"),
    }
}

/// Like [`unblock`], but returns a future of the result at once, to await it in an async task, or to do something
/// else meanwhile.
///
/// Dropping the future does not stop `f`.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let names = gossamer::unblock_async(|| std::fs::read_dir("/").map(Iterator::count)).await;
/// assert!(names.unwrap() > 0);
/// # });
/// ```
///
/// # Panics
/// If the pool has no thread and the system refuses the first. The future panics if `f` did, with its payload.
pub fn unblock_async<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> Unblocked<R> {
    match hand_over(f) {
        Ok(unblocked) => unblocked,
        Err(error) => panic!("{error}"),
    }
}

/// Like `unblock`; `call` is what the user called.
///
/// # Errors
/// If the pool has no thread and the system refuses the first.
///
/// # Panics
/// Like `unblock`, otherwise.
#[track_caller]
pub(crate) fn unblock_as<R: Send + 'static>(
    call: &'static str,
    f: impl FnOnce() -> R + Send + 'static,
) -> io::Result<R> {
    if context::current() == Caller::Outside && outside::may_block_thread() {
        return Ok(f());
    }
    // Before the work begins.
    worker::require_fiber(call);
    Ok(block_on(hand_over(f)?, call))
}

/// Runs `f` on a thread of the pool.
///
/// # Errors
/// If the pool has no thread and the system refuses the first.
pub(crate) fn hand_over<R: Send + 'static>(
    f: impl FnOnce() -> R + Send + 'static,
) -> io::Result<Unblocked<R>> {
    let (sender, receiver) = oneshot::channel();
    pool::submit(Box::new(move || sender.send(panic::catch_unwind(AssertUnwindSafe(f)))))?;
    Ok(Unblocked(receiver))
}

/// The result of blocking work that is on its way: what [`unblock_async`] returns.
///
/// # Panics
/// The future panics if the work did, with its payload.
#[must_use = "the work is done, but nobody hears of its result"]
pub struct Unblocked<R>(OneshotReceiver<Result<R, Box<dyn Any + Send>>>);

impl<R> Unblocked<R> {
    /// Whether the work has ended.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let work = gossamer::unblock_async(|| std::thread::sleep(std::time::Duration::from_millis(1)));
    /// while !work.is_finished() {
    ///     gossamer::yield_now(); // or something useful
    /// }
    /// gossamer::block_on(work); // at once
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

impl<R> Future for Unblocked<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        poll_or_wait(Pin::new(&mut self.0), context, "await").map(|outcome| match outcome {
            Ok(Ok(result)) => result,
            Ok(Err(payload)) => panic::resume_unwind(payload),
            Err(_closed) => panic!("an `Unblocked` has been polled again after it gave its result"),
        })
    }
}

impl<R> fmt::Debug for Unblocked<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unblocked").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}
