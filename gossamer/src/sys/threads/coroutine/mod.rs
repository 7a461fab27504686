//! Coroutines of the crate `may`, which wait for what this crate serves.
//!
//! may resumes a coroutine on any of its threads, so code of one may begin a function on one thread and end it on
//! another, while the compiler keeps the addresses of thread-locals in registers. That is harmless for what this crate
//! does there:
//!
//! - Y1: may resumes coroutines on its own threads only, and none inside of another (`spawn_may` asks for that where may
//!   leaves a choice). No worker is one of them. They never end, so the address of a thread-local of one stays valid.
//! - Y2: the thread-locals that this crate reads outside of workers (which worker, which context, which fiber) are set by
//!   workers only. On may's threads they keep their first values, so it makes no difference whose are read.
//! - Y3: whatever uses a thread-local of may or std is not inlined into code that suspends: each function here ends with the
//!   suspension or does not suspend, except [`CoroutineWaker::park`], which is may's own code throughout.
//! - Y4: a coroutine that unwinds from a panic is not suspended (std counts panics by thread): its thread waits.
//! - Y5: a thread of may goes on using a coroutine that it has suspended when another may have resumed it already, and
//!   ended it: what it uses is kept until it is done ([`reclamation`]).

mod reclamation;

use crate::sys::signals::fault_handler;
use crate::sys::threads::policy;
use may::coroutine::Coroutine;
use may::sync::Blocker;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, Once};
use std::task::Wake;

/// Whether the caller is a coroutine that may be suspended (Y4).
pub(super) fn may_suspend() -> bool {
    may::coroutine::is_coroutine() && !std::thread::panicking()
}

pub(crate) struct CoroutineWaker {
    // Before the coroutine: may's thread uses that as long as it uses the blocker, whose destructor waits for it.
    blocker: Blocker,
    /// With the data for its cancellation.
    _coroutine: Coroutine,
}

impl CoroutineWaker {
    pub(super) fn park(&self) {
        // An error says that the coroutine is being cancelled; may unwinds it, or will at its own next call.
        let _woken = self.blocker.park(None);
    }
}

impl Wake for CoroutineWaker {
    fn wake(self: Arc<Self>) {
        // Not `FastBlocker`, which would run the coroutine here (Y1).
        self.blocker.unpark();
    }
}

/// A coroutine that may suspend: what may's threads use of it outlives this (Y5).
pub(crate) struct Suspending(Arc<CoroutineWaker>);

impl Suspending {
    /// The caller, which is a coroutine.
    #[inline(never)]
    pub(super) fn here() -> Self {
        let blocker = Blocker::new(false);
        Self(Arc::new(CoroutineWaker { blocker, _coroutine: may::coroutine::current() }))
    }
}

impl Deref for Suspending {
    type Target = Arc<CoroutineWaker>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for Suspending {
    fn drop(&mut self) {
        reclamation::retire(Arc::clone(&self.0));
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
    let body = || {
        let _suspending = Suspending::here();
        body();
    };
    // SAFETY: guaranteed by the caller.
    unsafe { may::coroutine::Builder::new().spawn(body) }.map(drop)
}

/// Starts may's threads, from a thread that may run on all processors: a worker is pinned to one, and they would
/// inherit that. A coroutine finds them started, and must not block the one that it is on.
fn start_may() {
    static STARTED: Once = Once::new();
    static FOUND: Once = Once::new();
    if may::coroutine::is_coroutine() {
        return FOUND.call_once(fault_handler::install_again);
    }
    STARTED.call_once(|| {
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
