//! Sleeping on a word that another thread or another process changes.

use std::io;
use std::ptr::null;
use std::time::Duration;

/// Sleeps while the word is `expected`, until it is woken, a signal arrives or `limit` has passed: the caller looks
/// again.
///
/// # Errors
/// `TimedOut` once `limit` has passed.
pub(crate) fn wait(word: *const u32, expected: u32, limit: Option<Duration>) -> io::Result<()> {
    let limit = limit.map(|limit| libc::timespec {
        tv_sec: limit.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: limit.subsec_nanos().into(),
    });
    let limit = limit.as_ref().map_or(null(), |limit| limit as *const libc::timespec);
    // SAFETY: the kernel checks the address; the time is null or ours.
    let status = unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAIT, expected, limit) };
    match io::Error::last_os_error() {
        error if status < 0 && error.raw_os_error() == Some(libc::ETIMEDOUT) => {
            Err(io::ErrorKind::TimedOut.into())
        }
        _ => Ok(()),
    }
}

/// Wakes all threads that sleep on the word, in all processes.
pub(crate) fn wake_all(word: *const u32) {
    // SAFETY: the kernel uses the address only as a name.
    unsafe { libc::syscall(libc::SYS_futex, word, libc::FUTEX_WAKE, i32::MAX) };
}
