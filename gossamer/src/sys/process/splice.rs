//! Sending memory to a socket without a copy: its pages go there through a pipe.

use rustix::io::{Errno, retry_on_intr};
use rustix::pipe::{IoSliceRaw, PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice, vmsplice};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::null_mut;

/// Bytes that go through the pipe at once, if the system allows as many.
const AT_ONCE: usize = 1 << 20;

/// The pipe, for the thread that made it.
pub(crate) struct Splice {
    out: OwnedFd,
    into: OwnedFd,
}

impl Splice {
    /// Makes the calling thread ignore SIGPIPE: splicing into a socket has no flag for that.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn new() -> io::Result<Self> {
        block_sigpipe()?;
        let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
        // A smaller one only makes more calls.
        let _as_it_is = fcntl_setpipe_size(&into, AT_ONCE);
        Ok(Self { out, into })
    }

    /// Sends bytes to a blocking socket. When it returns they are queued there, not copied.
    ///
    /// # Errors
    /// If the other end is gone.
    ///
    /// # Safety
    /// The bytes change only after the other end has confirmed that it has them.
    pub(crate) unsafe fn send(&self, mut bytes: &[u8], socket: impl AsFd) -> io::Result<()> {
        while !bytes.is_empty() {
            let pages = [IoSliceRaw::from_slice(bytes)];
            // The pipe is empty, so this does not wait.
            // SAFETY: guaranteed by the caller.
            let into = retry_on_intr(|| unsafe { vmsplice(&self.into, &pages, SpliceFlags::empty()) })?;
            bytes = &bytes[into..];
            let flags = if bytes.is_empty() { SpliceFlags::empty() } else { SpliceFlags::MORE };
            let mut left = into;
            while left > 0 {
                match splice(&self.out, None, &socket, None, left, flags) {
                    Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                    Ok(count) => left -= count,
                    Err(Errno::INTR) => {}
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }
}

/// A blocked signal stays pending for ever: it was for this thread only.
fn block_sigpipe() -> io::Result<()> {
    let mut set = MaybeUninit::uninit();
    // SAFETY: the set is ours to write; the call makes it empty, and does not fail.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: written above.
    let mut set = unsafe { set.assume_init() };
    // SAFETY: the set is ours, and there is such a signal.
    unsafe { libc::sigaddset(&raw mut set, libc::SIGPIPE) };
    // SAFETY: the set is a live one, and the old one is not asked for.
    match unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, null_mut()) } {
        0 => Ok(()),
        number => Err(io::Error::from_raw_os_error(number)),
    }
}
