//! Timerfds: they wake a thread that sleeps in its poller, after a time that another thread sets.

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// A timerfd that one thread polls.
#[derive(Debug)]
pub(crate) struct TimerFd(OwnedFd);

impl TimerFd {
    /// A new one, which never wakes anybody before it is set.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        Ok(Self(timerfd_create(TimerfdClockId::Monotonic, flags)?))
    }

    /// Wakes the thread once, when this time has passed, and not when one that was set before has. Allocates nothing, so
    /// that signal handlers may call it.
    ///
    /// # Errors
    /// If the descriptor is not a timerfd, or the time is too long for the kernel.
    pub(crate) fn set(&self, time: Duration) -> io::Result<()> {
        let never = Timespec { tv_sec: 0, tv_nsec: 0 };
        // Zero would stop it.
        let time = time.max(Duration::from_nanos(1));
        let once = Timespec::try_from(time).map_err(|_| io::ErrorKind::InvalidInput)?;
        let once = Itimerspec { it_interval: never, it_value: once };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once)?;
        Ok(())
    }

    /// Resets it, for a poller that watches states (level-triggered).
    pub(crate) fn clear(&self) {
        // It fails if the time has not passed.
        let _count = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for TimerFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
