//! The thread that watches the workers looks often while one of them is awake, and seldom while all sleep; so a worker
//! that wakes up tells it.

use crate::sys::sync::eventfd::EventFd;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The watcher's last look found all workers asleep. Written seldom, so that workers read it from their own caches.
static DOZES: AtomicBool = AtomicBool::new(false);
static BELL: OnceLock<EventFd> = OnceLock::new();

/// The eventfd that wakes the watcher.
///
/// # Errors
/// If the system gives no descriptor.
pub(crate) fn bell() -> io::Result<&'static EventFd> {
    if BELL.get().is_none() {
        // Another thread may have been first; then this eventfd is closed.
        let _first = BELL.set(EventFd::new()?);
    }
    BELL.get().ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// Called by the watcher when it has found all workers asleep, or one awake. A worker that wakes up meanwhile may be
/// missed until the next look.
pub(crate) fn note(dozes: bool) {
    DOZES.store(dozes, Ordering::Relaxed);
}

/// Called by a worker that has slept.
#[inline]
pub(crate) fn woken() {
    if DOZES.load(Ordering::Relaxed) {
        ring();
    }
}

/// Wakes the watcher, even from a signal handler: with an atomic, and a write to the eventfd.
#[cold]
pub(crate) fn ring() {
    note(false);
    if let Some(bell) = BELL.get() {
        // The watcher looks after a while anyway.
        let _unheard = bell.signal();
    }
}
