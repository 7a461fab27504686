//! Wakes a thread of another process of this machine that sleeps in its poller.

use rustix::event::{EventfdFlags, eventfd};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// One thread's bell. Whoever was handed its descriptor can ring it.
#[derive(Debug)]
pub(crate) struct Bell(OwnedFd);

impl Bell {
    /// A bell for a poller of this process.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn create() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// The bell whose descriptor was handed over.
    pub(crate) fn received(descriptor: OwnedFd) -> Self {
        Self(descriptor)
    }

    /// Wakes the thread. A poller that is told of changes (edge-triggered) hears every call, so nobody takes the count back.
    ///
    /// # Errors
    /// If the descriptor is none of a bell.
    pub(crate) fn ring(&self) -> io::Result<()> {
        match rustix::io::write(&self.0, &1_u64.to_ne_bytes()) {
            // Full: it was rung 2^64 times.
            Ok(_) | Err(rustix::io::Errno::AGAIN) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Bell {
    /// Takes back what was rung, for a poller that is told of states.
    pub(crate) fn clear(&self) {
        // It fails if nothing was.
        let _count = rustix::io::read(&self.0, &mut [0; 8]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
