//! [`UCred`]: who has the other end of a Unix socket.

use crate::sys::process::socket_options::peer_credentials;
use std::io;
use std::os::fd::BorrowedFd;

/// Who has the other end of a Unix socket: the user, the group and the process that connected, listened or made the pair. What
/// [`UnixStream::peer_cred`](crate::net::UnixStream::peer_cred) returns.
///
/// The kernel has noted them at that moment: a process that has changed its user, or handed its end to another, is told as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UCred {
    user: u32,
    group: u32,
    process: i32,
}

impl UCred {
    /// # Errors
    /// The system's.
    pub(crate) fn of_peer(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let credentials = peer_credentials(socket)?;
        Ok(Self { user: credentials.uid, group: credentials.gid, process: credentials.pid })
    }

    /// The effective user.
    pub fn uid(&self) -> u32 {
        self.user
    }

    /// The effective group.
    pub fn gid(&self) -> u32 {
        self.group
    }

    /// The process; `None` if it is of a PID namespace that this one does not see.
    pub fn pid(&self) -> Option<i32> {
        Some(self.process).filter(|process| *process != 0)
    }
}
