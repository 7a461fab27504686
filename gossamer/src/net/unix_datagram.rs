//! [`UnixDatagram`]: datagrams within a machine.

use crate::net::UCred;
use crate::net::common::{LimitedSocket, every_socket, limited_socket};
use crate::net::fiber_socket::check_may_wait;
use crate::net::unwinding::refuse_while_unwinding;
use crate::waiting::{block_on, sleep_async};
use crate::worker::fibers::readiness::Direction;
use std::io;
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a sender waits for room in a socket that it has not connected to.
const UNTIL_RETRY: Duration = Duration::from_millis(1);

type StdUnixDatagram = std::os::unix::net::UnixDatagram;

/// A Unix socket for datagrams, as [`std::os::unix::net::UnixDatagram`]; waiting suspends only the fiber. Unlike
/// those of UDP, its datagrams are neither lost nor reordered: sending to a full socket waits.
///
/// # Panics
/// All calls that send, receive, bind or connect panic in a delegated closure or a callback, which cannot wait; those that begin
/// with `try_` do not.
pub struct UnixDatagram(LimitedSocket<StdUnixDatagram>);

every_socket!(UnixDatagram, SocketAddr);
limited_socket!(UnixDatagram, SocketAddr, StdUnixDatagram);

impl UnixDatagram {
    /// Makes a socket at this path.
    ///
    /// # Errors
    /// If there is a file at that path, the path is too long, or the system refuses.
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::bind_addr(&SocketAddr::from_pathname(path)?)
    }

    /// Like [`bind`](Self::bind), at an address, which may be an abstract name.
    ///
    /// # Errors
    /// If the name is taken, or the system refuses.
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        check_may_wait("UnixDatagram::bind");
        Self::from_std(StdUnixDatagram::bind_addr(address)?)
    }

    /// A socket without a name: it can send, and receive from a socket that it has connected to.
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
    /// # Errors
    /// If there is no such socket, or the caller may not send to it.
    pub fn connect(&self, path: impl AsRef<Path>) -> io::Result<()> {
        self.connect_addr(&SocketAddr::from_pathname(path)?)
    }

    /// Like [`connect`](Self::connect), to an address, which may be an abstract name.
    ///
    /// # Errors
    /// Like [`connect`](Self::connect).
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

    /// Receives one datagram: its length, cut to that of the buffer, and who sent it.
    ///
    /// # Errors
    /// `TimedOut` after the limit of [`set_read_timeout`](Self::set_read_timeout), or another error of the system.
    #[track_caller]
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read("UnixDatagram::recv_from", |socket| socket.recv_from(buffer))
    }

    /// Receives one datagram: its length, cut to that of the buffer.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// one.send(b"hello")?;
    /// let mut buffer = [0; 3];
    /// assert_eq!(other.recv(&mut buffer)?, 3); // cut to the buffer
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read("UnixDatagram::recv", |socket| socket.recv(buffer))
    }

    /// Like [`recv`](Self::recv), without ever waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// let error = other.try_recv(&mut [0; 64]).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock); // nothing has come
    /// # drop(one);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no datagram now, or another error of the system.
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.io().recv(buffer)
    }

    /// Sends one datagram to the socket at a path.
    ///
    /// # Errors
    /// If there is no such socket, the datagram is too long, or the system refuses; `TimedOut` after the limit of
    /// [`set_write_timeout`](Self::set_write_timeout).
    pub fn send_to(&self, bytes: &[u8], path: impl AsRef<Path>) -> io::Result<usize> {
        self.send_to_addr(bytes, &SocketAddr::from_pathname(path)?)
    }

    /// Like [`send_to`](Self::send_to), to an address, which may be an abstract name.
    ///
    /// A socket that is [connected](Self::connect) waits until the other one has room. If it is not connected, the
    /// kernel does not notify it, so this call tries again after a while.
    ///
    /// # Errors
    /// Like [`send_to`](Self::send_to).
    #[track_caller]
    pub fn send_to_addr(&self, bytes: &[u8], address: &SocketAddr) -> io::Result<usize> {
        check_may_wait("UnixDatagram::send_to");
        let limit = self.0.limit(Direction::Write).get();
        let due = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            match self.0.io().send_to_addr(bytes, address) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            if due.is_some_and(|due| Instant::now() >= due) {
                let text = format!("`UnixDatagram::send_to` has waited for {:?}", limit.unwrap_or_default());
                return Err(io::Error::new(io::ErrorKind::TimedOut, text));
            }
            refuse_while_unwinding("UnixDatagram::send_to")?;
            block_on(sleep_async(UNTIL_RETRY));
        }
    }

    /// Sends one datagram to the connected socket.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// assert_eq!(one.send(b"hello")?, 5);
    /// # drop(other);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the socket is not connected, the datagram is too long, or the system refuses; `TimedOut` after the limit of
    /// [`set_write_timeout`](Self::set_write_timeout).
    #[track_caller]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write("UnixDatagram::send", |socket| socket.send(bytes))
    }

    /// Like [`send`](Self::send), without ever waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// one.try_send(b"hello")?; // `WouldBlock` if the other end is full
    /// # drop(other);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the other socket is full now, or as [`send`](Self::send).
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.io().send(bytes)
    }

    /// Like [`recv_from`](Self::recv_from), as a future for any executor, without a time limit. Dropping it loses no datagram.
    ///
    /// # Errors
    /// An error of the system call.
    pub async fn recv_from_async(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_async(|socket| socket.recv_from(buffer)).await
    }

    /// Like [`recv`](Self::recv), as a future for any executor, without a time limit. Dropping it loses no datagram.
    ///
    /// # Errors
    /// An error of the system call.
    pub async fn recv_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_async(|socket| socket.recv(buffer)).await
    }

    /// Like [`send`](Self::send), as a future for any executor, without a time limit.
    ///
    /// # Errors
    /// Like [`send`](Self::send).
    pub async fn send_async(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_async(|socket| socket.send(bytes)).await
    }

    /// Ends receiving, sending or both, on every handle of the socket. Waiting calls are woken.
    ///
    /// # Errors
    /// An error of the system call.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.io().shutdown(how)
    }
}
