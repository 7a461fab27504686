//! The thread that watches the workers looks often while one of them is awake, and seldom while all sleep; so a worker
//! that wakes up has it look soon.

use crate::sys::sync::timerfd::TimerFd;
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long the watcher sleeps on when a worker wakes up: then one that often does costs it little, and it takes no
/// processor that another worker could wake up on.
const SNOOZE: Duration = Duration::from_millis(50);

/// The watcher's last look found all workers asleep. Written seldom, so that workers read it from their own caches.
static DOZES: AtomicBool = AtomicBool::new(false);
static ALARM: OnceLock<TimerFd> = OnceLock::new();

/// What wakes the watcher of this process.
///
/// # Errors
/// If the system gives no descriptor.
pub(crate) fn alarm() -> io::Result<&'static TimerFd> {
    if ALARM.get().is_none() {
        // Another thread may have been first; then this one is closed.
        let _first = ALARM.set(TimerFd::new()?);
    }
    ALARM.get().ok_or_else(|| io::ErrorKind::NotFound.into())
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
        wake_in(SNOOZE);
    }
}

/// Wakes the watcher, even from a signal handler: with an atomic and a system call. A worker that wakes up at the same
/// moment may delay it by as long as the watcher would sleep on for that one.
pub(crate) fn ring() {
    wake_in(Duration::ZERO);
}

#[cold]
#[inline(never)]
fn wake_in(time: Duration) {
    note(false);
    if let Some(alarm) = ALARM.get() {
        // The watcher looks after a while anyway.
        let _unset = alarm.set(time);
    }
}
