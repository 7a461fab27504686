//! How a [`UnixDatagram`] sends and receives.

use crate::net::UnixDatagram;
use crate::net::fiber_socket::check_may_wait;
use crate::net::unwinding::refuse_while_unwinding;
use crate::waiting::{block_on, sleep_async};
use crate::worker::fibers::readiness::Direction;
use std::io;
use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a sender waits for room in a socket that it has not connected to.
const UNTIL_RETRY: Duration = Duration::from_millis(1);

impl UnixDatagram {
    /// Receives one datagram: its length, cut to that of the buffer, and who sent it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    /// let name = SocketAddr::from_abstract_name(format!("asked-{}", std::process::id()))?;
    /// let server = UnixDatagram::bind_addr(&name)?;
    /// let client = UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(format!("asking-{}", std::process::id()))?)?;
    /// client.send_to_addr(b"a question", &name)?;
    /// let (_length, from) = server.recv_from(&mut [0; 64])?;
    /// server.send_to_addr(b"an answer", &from)?;
    /// assert_eq!(client.recv(&mut [0; 64])?, 9);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
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
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// # let path = std::env::temp_dir().join(format!("gossamer-datagram-send-{}", std::process::id()));
    /// let log = UnixDatagram::bind(&path)?;
    /// assert_eq!(UnixDatagram::unbound()?.send_to(b"a line", &path)?, 6);
    /// assert_eq!(log.recv(&mut [0; 64])?, 6);
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
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
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    /// let name = SocketAddr::from_abstract_name(format!("sent-to-{}", std::process::id()))?;
    /// let log = UnixDatagram::bind_addr(&name)?;
    /// assert_eq!(UnixDatagram::unbound()?.send_to_addr(b"a line", &name)?, 6);
    /// assert_eq!(log.recv(&mut [0; 64])?, 6);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
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
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// let mut buffer = [0; 16];
    /// let limit = std::time::Duration::from_millis(1);
    /// assert!(gossamer::timeout(limit, other.recv_from_async(&mut buffer)).is_err()); // nothing has come
    /// one.send(b"hello")?;
    /// let (length, from) = gossamer::block_on(other.recv_from_async(&mut buffer))?;
    /// assert!(length == 5 && from.is_unnamed());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub async fn recv_from_async(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read_async(|socket| socket.recv_from(buffer)).await
    }

    /// Like [`recv`](Self::recv), as a future for any executor, without a time limit. Dropping it loses no datagram.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// one.send(b"hello")?;
    /// let mut buffer = [0; 16];
    /// assert_eq!(gossamer::block_on(other.recv_async(&mut buffer))?, 5);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub async fn recv_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_async(|socket| socket.recv(buffer)).await
    }

    /// Like [`send`](Self::send), as a future for any executor, without a time limit.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixDatagram;
    /// let (one, other) = UnixDatagram::pair()?;
    /// gossamer::block_on(one.send_async(b"hello"))?; // waits while the other end is full
    /// assert_eq!(other.recv(&mut [0; 16])?, 5);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`send`](Self::send).
    pub async fn send_async(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_async(|socket| socket.send(bytes)).await
    }
}
