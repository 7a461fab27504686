//! [`UCred`]: the owner of the other end of a Unix socket.

use crate::sys::process::socket_options::peer_credentials;
use std::io;
use std::os::fd::BorrowedFd;

/// The owner of the other end of a Unix socket: the user, the group and the process that connected, listened or made
/// the pair. What [`UnixStream::peer_cred`](crate::net::UnixStream::peer_cred) returns.
///
/// The kernel notes them at that moment: later changes of the process's user, or of the owner of the socket, do not
/// show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UCred {
    user: u32,
    group: u32,
    process: i32,
}

impl UCred {
    /// # Errors
    /// An error of the system call.
    pub(crate) fn of_peer(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let credentials = peer_credentials(socket)?;
        Ok(Self { user: credentials.uid, group: credentials.gid, process: credentials.pid })
    }

    /// The effective user.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// use std::os::unix::fs::MetadataExt;
    /// let (stream, _other) = UnixStream::pair()?;
    /// let is_mine = stream.peer_cred()?.uid() == std::fs::metadata("/proc/self")?.uid();
    /// assert!(is_mine); // a server may refuse others
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn uid(&self) -> u32 {
        self.user
    }

    /// The effective group.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// use std::os::unix::fs::MetadataExt;
    /// let (stream, _other) = UnixStream::pair()?;
    /// assert_eq!(stream.peer_cred()?.gid(), std::fs::metadata("/proc/self")?.gid());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn gid(&self) -> u32 {
        self.group
    }

    /// The process; `None` if it is in a PID namespace that this one cannot see.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// let (stream, _other) = UnixStream::pair()?;
    /// assert_eq!(stream.peer_cred()?.pid(), Some(std::process::id() as i32));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn pid(&self) -> Option<i32> {
        Some(self.process).filter(|process| *process != 0)
    }
}
