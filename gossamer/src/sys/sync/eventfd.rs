//! Eventfds: they wake a thread that sleeps in its poller, even from another process of this machine.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// An eventfd that one thread polls. Any process that was handed its descriptor can signal it.
#[derive(Debug)]
pub(crate) struct EventFd(OwnedFd);

impl EventFd {
    /// A new one, for a poller of this process.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The eventfd whose descriptor was handed over.
    pub(crate) fn from_descriptor(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Wakes the thread. A poller that watches for changes (edge-triggered) sees every call, so nothing takes the count
    /// back.
    ///
    /// # Errors
    /// If the descriptor is not an eventfd.
    pub(crate) fn signal(&self) -> io::Result<()> {
        match rustix::io::write(&self.0, &1_u64.to_ne_bytes()) {
            // Full: it was signalled 2^64 times.
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Resets it, for a poller that watches states (level-triggered).
    pub(crate) fn clear(&self) {
        // It fails if it was not signalled.
        let _count = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for EventFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
