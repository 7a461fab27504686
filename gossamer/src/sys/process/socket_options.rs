//! Socket options that none of the crates used here has, or has right.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// The owner of the other end of a Unix socket: process, user and group. The process is 0 if it is in another
/// namespace; `rustix` takes that for a process.
///
/// # Errors
/// An error of the system call, for example because the socket is not connected.
pub(crate) fn peer_credentials(socket: BorrowedFd<'_>) -> io::Result<libc::ucred> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the value and its length are ours, and the value is as long as that says.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    outcome_of(outcome).map(|()| credentials)
}

/// Makes a socket, before it listens, take data with the first packet of a connection, for up to this many connections
/// at once that are not established yet (`TCP_FASTOPEN`).
///
/// # Errors
/// An error of the system call.
pub(crate) fn set_fast_open(socket: impl AsFd, pending: u32) -> io::Result<()> {
    set_tcp(socket, libc::TCP_FASTOPEN, pending)
}

/// Makes a listening socket hand over connections only once their peers have sent something, or after about this many
/// seconds (`TCP_DEFER_ACCEPT`).
///
/// # Errors
/// An error of the system call.
pub(crate) fn set_defer_accept(socket: impl AsFd, seconds: u32) -> io::Result<()> {
    set_tcp(socket, libc::TCP_DEFER_ACCEPT, seconds)
}

fn set_tcp(socket: impl AsFd, option: c_int, value: u32) -> io::Result<()> {
    let value = c_int::try_from(value).unwrap_or(c_int::MAX);
    // SAFETY: the value is ours, and as long as the length says.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            option,
            (&raw const value).cast(),
            size_of::<c_int>() as libc::socklen_t,
        )
    };
    outcome_of(outcome)
}

fn outcome_of(outcome: c_int) -> io::Result<()> {
    if outcome == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
