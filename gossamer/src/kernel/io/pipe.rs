//! The pipe through which the kernel moves bytes from one descriptor to another.

use rustix::io::retry_on_intr;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

/// The default capacity of a pipe.
const USUAL: usize = 64 * 1024;
/// The capacity of a large pipe, if the system allows it.
const LARGE: usize = 1 << 20;

/// A pipe that is empty between two steps. SIGPIPE is ignored, as in every Rust program: splicing has no flag for that.
pub(super) struct SplicePipe {
    out: OwnedFd,
    into: OwnedFd,
    holds: usize,
}

impl SplicePipe {
    /// # Errors
    /// If no descriptor is left.
    pub(super) fn new() -> io::Result<Self> {
        let (out, into) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        Ok(Self { out, into, holds: USUAL })
    }

    /// A pipe with a larger capacity, if the system allows it.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(super) fn large() -> io::Result<Self> {
        let pipe = Self::new()?;
        let holds = fcntl_setpipe_size(&pipe.into, LARGE).unwrap_or(USUAL);
        Ok(Self { holds, ..pipe })
    }

    /// Takes what a socket has; 0 at its end. The pipe is empty.
    ///
    /// # Errors
    /// `WouldBlock` if it has nothing now, `InvalidInput` if it cannot be spliced, or another error of the system.
    pub(super) fn fill(&self, from: impl AsFd) -> io::Result<usize> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        Ok(retry_on_intr(|| splice(&from, None, &self.into, None, self.holds, flags))?)
    }

    /// Gives away up to `bytes` of what it holds.
    ///
    /// # Errors
    /// `WouldBlock` if the other end takes nothing now, `InvalidInput` if it cannot be spliced to, or another error of the system.
    pub(super) fn drain(&self, to: impl AsFd, bytes: usize) -> io::Result<usize> {
        let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
        match retry_on_intr(|| splice(&self.out, None, &to, None, bytes, flags))? {
            0 => Err(io::ErrorKind::WriteZero.into()),
            bytes => Ok(bytes),
        }
    }

    /// Reads `bytes` bytes that it holds, for a target that cannot be spliced to.
    ///
    /// # Errors
    /// An error of the system call.
    pub(super) fn take(&self, bytes: usize) -> io::Result<Vec<u8>> {
        let mut taken = vec![0; bytes];
        let mut out = std::fs::File::from(self.out.try_clone()?);
        out.read_exact(&mut taken)?;
        Ok(taken)
    }
}
