//! Waiting on a thread that is not a worker: the thread waits, or, with the feature `may`, the coroutine of the crate `may`
//! that the thread runs.

#[cfg(feature = "may")]
use crate::sys::threads::coroutine;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// What waits: what a future wakes.
pub(crate) enum Waiter {
    Thread(Arc<ThreadWaker>),
    #[cfg(feature = "may")]
    Coroutine(coroutine::Suspending),
}

pub(crate) struct ThreadWaker(Thread);

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl Waiter {
    /// The caller, which is not a worker.
    #[inline(never)]
    pub(crate) fn here() -> Self {
        #[cfg(feature = "may")]
        if coroutine::may_suspend() {
            return Self::Coroutine(coroutine::Suspending::here());
        }
        Self::Thread(Arc::new(ThreadWaker(thread::current())))
    }

    pub(crate) fn waker(&self) -> Waker {
        match self {
            Self::Thread(waker) => Arc::clone(waker).into(),
            #[cfg(feature = "may")]
            Self::Coroutine(suspending) => Arc::clone(suspending).into(),
        }
    }

    /// Waits until the waker is woken, or less.
    #[inline(never)]
    pub(crate) fn park(&self) {
        match self {
            Self::Thread(_) => thread::park(),
            #[cfg(feature = "may")]
            Self::Coroutine(suspending) => suspending.park(),
        }
    }
}

/// Waits for at least `duration`.
#[inline(never)]
pub(crate) fn sleep(duration: Duration) {
    #[cfg(feature = "may")]
    if coroutine::may_suspend() {
        return may::coroutine::sleep(duration);
    }
    thread::sleep(duration);
}

/// Lets others run.
#[inline(never)]
pub(crate) fn yield_now() {
    #[cfg(feature = "may")]
    if coroutine::may_suspend() {
        return may::coroutine::yield_now();
    }
    thread::yield_now();
}

/// Whether the caller may block its thread: it is not a coroutine of may, whose thread has others to run.
#[inline(never)]
pub(crate) fn may_block_thread() -> bool {
    #[cfg(feature = "may")]
    if may::coroutine::is_coroutine() {
        return false;
    }
    true
}

/// Checks that the caller may block its thread.
///
/// # Panics
/// In a coroutine of may, whose thread has others to run.
#[inline(never)]
#[track_caller]
pub(crate) fn require_thread(call: &str) {
    #[cfg(feature = "may")]
    if may::coroutine::is_coroutine() {
        panic!(
            "blocking `{call}` in a coroutine of may: its thread could run no other; use `may::net`, or a fiber"
        );
    }
    let _ = call;
}
