//! Waiting on a thread that is not a worker: the thread waits, or, with the feature `may`, the coroutine of the crate `may`
//! that the thread runs.
//!
//! # Coroutines of may
//! may resumes a coroutine on any of its threads, so code of one may begin a function on one thread and end it on
//! another, while the compiler keeps the addresses of thread-locals in registers. That is harmless for what this crate
//! does there:
//!
//! - Y1: may resumes coroutines on its own threads only (`spawn_may` asks for that where may leaves a choice). No worker
//!   is one of them. They never end, so the address of a thread-local of one stays valid.
//! - Y2: the thread-locals that this crate reads outside of workers (which worker, which context, which fiber) are set by
//!   workers only. On may's threads they keep their first values, so it makes no difference whose are read.
//! - Y3: whatever uses a thread-local of may or std is not inlined into code that suspends: each function here ends with the
//!   suspension or does not suspend, except `Waiter::park`, which is may's own code throughout.
//! - Y4: a coroutine that unwinds from a panic is not suspended (std counts panics by thread): its thread waits.

use std::sync::Arc;
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

/// What waits: what a future wakes.
pub(crate) enum Waiter {
    Thread(Arc<ThreadWaker>),
    #[cfg(feature = "may")]
    Coroutine(Arc<coroutine::CoroutineWaker>),
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
            return Self::Coroutine(coroutine::CoroutineWaker::here());
        }
        Self::Thread(Arc::new(ThreadWaker(thread::current())))
    }

    pub(crate) fn waker(&self) -> Waker {
        match self {
            Self::Thread(waker) => Arc::clone(waker).into(),
            #[cfg(feature = "may")]
            Self::Coroutine(waker) => Arc::clone(waker).into(),
        }
    }

    /// Waits until the waker is woken, or less.
    #[inline(never)]
    pub(crate) fn park(&self) {
        match self {
            Self::Thread(_) => thread::park(),
            #[cfg(feature = "may")]
            Self::Coroutine(waker) => waker.park(),
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

#[cfg(feature = "may")]
pub(crate) mod coroutine {
    //! Coroutines of may, seen from this crate.

    use crate::sys::signals::fault_handler;
    use crate::sys::threads::policy;
    use may::sync::Blocker;
    use std::io;
    use std::sync::{Arc, Once};
    use std::task::Wake;

    /// Whether the caller is a coroutine that may be suspended (Y4).
    pub(super) fn may_suspend() -> bool {
        may::coroutine::is_coroutine() && !std::thread::panicking()
    }

    pub(crate) struct CoroutineWaker(Blocker);

    impl CoroutineWaker {
        pub(super) fn here() -> Arc<Self> {
            Arc::new(Self(Blocker::new(false)))
        }

        pub(super) fn park(&self) {
            // An error says that the coroutine is being cancelled; may unwinds it, or will at its own next call.
            let _woken = self.0.park(None);
        }
    }

    impl Wake for CoroutineWaker {
        fn wake(self: Arc<Self>) {
            // Not `FastBlocker`, which would run the coroutine here (Y1).
            self.0.unpark();
        }
    }

    /// Runs `body` as a coroutine, on may's threads.
    ///
    /// # Errors
    /// If may cannot make one.
    ///
    /// # Safety
    /// Like `may::coroutine::Builder::spawn`; and Y1: the coroutine is resumed on may's threads only.
    pub(crate) unsafe fn spawn(body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        start_may();
        // SAFETY: guaranteed by the caller.
        unsafe { may::coroutine::Builder::new().spawn(body) }.map(drop)
    }

    /// Starts may's threads, from a thread that may run on all processors: a worker is pinned to one, and they would
    /// inherit that.
    fn start_may() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let starter = std::thread::Builder::new().name("gossamer-may".into()).spawn(|| {
                // Refused only where pinning is refused too, so there is nothing to undo.
                let _unpinned = policy::run_as_first_thread();
                // SAFETY: it neither suspends nor uses a thread-local.
                let first = unsafe { may::coroutine::Builder::new().spawn(fault_handler::install_again) };
                // The handler for faults that the first coroutine installs must not stand in front of ours.
                first.map(|first| first.wait())
            });
            // Without it may starts by itself, only on fewer processors.
            let _started = starter.map(std::thread::JoinHandle::join);
        });
    }
}
