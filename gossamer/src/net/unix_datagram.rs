//! [`UnixDatagram`]: datagrams within a machine. How they are sent and received is in `unix_datagram_calls`.

use crate::net::UCred;
use crate::net::common::{every_socket, limited_socket};
use crate::net::fiber_socket::check_may_wait;
use crate::net::limited_socket::LimitedSocket;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::SocketAddr;
use std::path::Path;

type StdUnixDatagram = std::os::unix::net::UnixDatagram;

/// A Unix socket for datagrams, as [`std::os::unix::net::UnixDatagram`]; waiting suspends only the fiber. Unlike
/// those of UDP, its datagrams are neither lost nor reordered: sending to a full socket waits.
///
/// # Panics
/// All calls that send, receive, bind or connect panic in a delegated closure or a callback, which cannot wait; those that begin
/// with `try_` do not.
pub struct UnixDatagram(pub(in crate::net) LimitedSocket<StdUnixDatagram>);

every_socket! {
    UnixDatagram, SocketAddr,
    made: "use gossamer::net::UnixDatagram;\n\
        let socket = UnixDatagram::unbound()?;",
    local: "assert!(socket.local_addr()?.is_unnamed());"
}
limited_socket! {
    UnixDatagram, SocketAddr, StdUnixDatagram,
    made: "use gossamer::net::UnixDatagram;\n\
        let (socket, peer) = UnixDatagram::pair()?;",
    remote: "assert!(socket.peer_addr()?.is_unnamed()); // as both of a pair are",
    calls: try_send, try_recv
}

impl UnixDatagram {
    /// Makes a socket at this path.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gossamer-datagram-bind-{}", std::process::id()));
    /// let log = UnixDatagram::bind(&path)?;
    /// UnixDatagram::unbound()?.send_to(b"a line", &path)?;
    /// assert_eq!(log.recv(&mut [0; 64])?, 6);
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If there is a file at that path, the path is too long, or the system refuses.
    #[track_caller]
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::bind_addr(&SocketAddr::from_pathname(path)?)
    }

    /// Like [`bind`](Self::bind), at an address, which may be an abstract name.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    /// let name = SocketAddr::from_abstract_name(format!("log-{}", std::process::id()))?;
    /// let log = UnixDatagram::bind_addr(&name)?; // no file is left
    /// UnixDatagram::unbound()?.send_to_addr(b"a line", &name)?;
    /// assert_eq!(log.recv(&mut [0; 64])?, 6);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the name is taken, or the system refuses.
    #[track_caller]
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        check_may_wait("UnixDatagram::bind");
        Self::from_std(StdUnixDatagram::bind_addr(address)?)
    }

    /// A socket without a name: it can send, and receive from a socket that it has connected to.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gossamer-datagram-unbound-{}", std::process::id()));
    /// let log = UnixDatagram::bind(&path)?;
    /// let sender = UnixDatagram::unbound()?;
    /// sender.send_to(b"a line", &path)?;
    /// let (length, from) = log.recv_from(&mut [0; 64])?;
    /// assert!(length == 6 && from.is_unnamed()); // nobody can answer it
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call, for example because the process has too many open files.
    pub fn unbound() -> io::Result<Self> {
        Self::from_std(StdUnixDatagram::unbound()?)
    }

    /// Two sockets without names, each connected to the other.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// one.send(b"hello")?;
    /// let mut buffer = [0; 64];
    /// assert_eq!(other.recv(&mut buffer)?, 5);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call, for example because the process has too many open files.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (near, far) = StdUnixDatagram::pair()?;
        Ok((Self::from_std(near)?, Self::from_std(far)?))
    }

    /// Sets the socket that [`send`](Self::send) sends to and that [`recv`](Self::recv) receives from.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gossamer-datagram-connect-{}", std::process::id()));
    /// let log = UnixDatagram::bind(&path)?;
    /// let sender = UnixDatagram::unbound()?;
    /// sender.connect(&path)?;
    /// sender.send(b"a line")?; // waits while the log is full
    /// assert_eq!(log.recv(&mut [0; 64])?, 6);
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If there is no such socket, or the caller may not send to it.
    #[track_caller]
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.connect_addr(&SocketAddr::from_pathname(path)?)
    }

    /// Like [`connect`](Self::connect), to an address, which may be an abstract name.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    /// let name = SocketAddr::from_abstract_name(format!("connected-{}", std::process::id()))?;
    /// let log = UnixDatagram::bind_addr(&name)?;
    /// let sender = UnixDatagram::unbound()?;
    /// sender.connect_addr(&name)?;
    /// sender.send(b"a line")?;
    /// assert_eq!(log.recv(&mut [0; 64])?, 6);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`connect`](Self::connect).
    #[track_caller]
    pub fn connect_addr(&self, address: &SocketAddr) -> io::Result<()> {
        check_may_wait("UnixDatagram::connect");
        self.0.io().connect_addr(address)
    }

    /// The process that made the other socket of a [pair](Self::pair).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// assert_eq!(one.peer_cred()?.pid(), Some(std::process::id() as i32));
    /// # drop(other);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Errors of the system; it knows only of pairs.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of_peer(self.as_fd())
    }

    /// Ends receiving, sending or both, on every handle of the socket. Waiting calls are woken.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// use std::net::Shutdown;
    /// let (one, other) = UnixDatagram::pair()?;
    /// other.shutdown(Shutdown::Read)?;
    /// let error = one.send(b"hello").unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.io().shutdown(how)
    }
}
