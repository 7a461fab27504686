//! What happens to those that wait for connections when their listener is closed.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::io;
use std::os::fd::AsFd;

/// Ends listening, on every handle of a socket: all that wait for a connection are woken, and get an error.
///
/// # Errors
/// An error of the system call.
pub(crate) fn end_listening(listener: impl AsFd) -> io::Result<()> {
    match rustix::net::shutdown(listener, Shutdown::Both) {
        // It has ended already.
        Err(Errno::NOTCONN) => Ok(()),
        outcome => Ok(outcome?),
    }
}

/// The error of an attempt to accept, with a text if the socket does not listen any more, which is the only cause of
/// `EINVAL`.
pub(crate) fn accept_error(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(Errno::INVAL.raw_os_error()) { closed() } else { error }
}

/// Like `accept_error`, for a Unix socket: without waiting, the kernel does not distinguish a closed listener from
/// one that nobody connects to.
pub(crate) fn unix_accept_error(listener: impl AsFd, error: io::Error) -> io::Error {
    if error.kind() == io::ErrorKind::WouldBlock && has_ended(listener) {
        closed()
    } else {
        accept_error(error)
    }
}

fn has_ended(listener: impl AsFd) -> bool {
    let mut entry = [PollFd::new(&listener, PollFlags::RDHUP)];
    poll(&mut entry, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

fn closed() -> io::Error {
    let text = "the listener is closed: `close` was called on it, or on another handle of it";
    io::Error::new(io::ErrorKind::NotConnected, text)
}
