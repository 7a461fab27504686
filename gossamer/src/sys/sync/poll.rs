//! Waiting for one descriptor as a thread: what a fiber leaves to its worker's poller.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null;
use std::time::Duration;

/// Waits until an operation on the descriptor, a write or else a read, may not block, or until `timeout` has passed;
/// returns whether it may not. Returns early when a signal arrives.
///
/// # Errors
/// If the kernel refuses.
pub(crate) fn wait_for(
    descriptor: BorrowedFd<'_>,
    write: bool,
    timeout: Option<Duration>,
) -> io::Result<bool> {
    let events = if write { libc::POLLOUT } else { libc::POLLIN };
    let mut entry = libc::pollfd { fd: descriptor.as_raw_fd(), events, revents: 0 };
    let timeout = timeout.map(|timeout| libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(null(), |timeout| timeout as *const _);
    // SAFETY: one entry, ours, is read and written; the time is null or ours; a null mask leaves the signals alone.
    let ready = unsafe { libc::ppoll(&raw mut entry, 1, timeout, null()) };
    if ready >= 0 {
        return Ok(ready > 0);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        error => Err(error),
    }
}
