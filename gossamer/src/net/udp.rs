//! [`UdpSocket`]: datagrams.

use crate::net::ToSocketAddrs;
use crate::net::address::{first_of, no_address, resolve};
use crate::net::common::{every_socket, limited_socket};
use crate::net::fiber_socket::check_may_wait;
use crate::net::limited_socket::LimitedSocket;
use std::io;
use std::net::SocketAddr;

/// A UDP socket, as [`std::net::UdpSocket`]; waiting suspends only the fiber.
///
/// To set options that are missing here, make a socket of the standard library and pass it to
/// [`from_std`](Self::from_std).
///
/// # Panics
/// All calls that send, receive, bind or connect panic in a delegated closure or a callback, which cannot wait; those that begin
/// with `try_` do not.
pub struct UdpSocket(LimitedSocket<std::net::UdpSocket>);

every_socket! {
    UdpSocket, SocketAddr,
    made: "use gossamer::net::UdpSocket;\n\
        let socket = UdpSocket::bind(\"127.0.0.1:0\")?;",
    local: "assert_ne!(socket.local_addr()?.port(), 0); // one that was free"
}
limited_socket! {
    UdpSocket, SocketAddr, std::net::UdpSocket,
    made: "use gossamer::net::UdpSocket;\n\
        let (socket, peer) = (UdpSocket::bind(\"127.0.0.1:0\")?, UdpSocket::bind(\"127.0.0.1:0\")?);\n\
        socket.connect(peer.local_addr()?)?;\n\
        peer.connect(socket.local_addr()?)?;",
    remote: "assert_eq!(socket.peer_addr()?, peer.local_addr()?);",
    calls: try_send, try_recv
}

impl UdpSocket {
    /// Binds a socket to an address, the first of several that works. Port 0 asks the system for a free one.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// assert_ne!(one.local_addr()?, other.local_addr()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the address is malformed, unknown or taken, or the system refuses.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(address: A) -> io::Result<Self> {
        check_may_wait("UdpSocket::bind");
        let addresses = resolve(address, "UdpSocket::bind")?;
        first_of(&addresses, |address| Self::from_std(std::net::UdpSocket::bind(address)?))
    }

    /// Sets the address that [`send`](Self::send) sends to and that [`recv`](Self::recv) receives from.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.connect(other.local_addr()?)?;
    /// one.send(b"hello")?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the address is malformed or unknown, or the system refuses.
    #[track_caller]
    pub fn connect<A: ToSocketAddrs>(&self, address: A) -> io::Result<()> {
        check_may_wait("UdpSocket::connect");
        let addresses = resolve(address, "UdpSocket::connect")?;
        first_of(&addresses, |address| self.0.io().connect(address))
    }

    /// Receives one datagram: its length, cut to that of the buffer, and who sent it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.send_to(b"hello", other.local_addr()?)?;
    /// let mut buffer = [0; 64];
    /// let (length, from) = other.recv_from(&mut buffer)?;
    /// assert_eq!((&buffer[..length], from), (&b"hello"[..], one.local_addr()?));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `TimedOut` after the limit of [`set_read_timeout`](Self::set_read_timeout), or another error of the system.
    #[track_caller]
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read("UdpSocket::recv_from", |socket| socket.recv_from(buffer))
    }

    /// Like [`recv_from`](Self::recv_from), but the datagram stays.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.send_to(b"hello", other.local_addr()?)?;
    /// let mut buffer = [0; 64];
    /// assert_eq!(other.peek_from(&mut buffer)?, other.recv_from(&mut buffer)?); // it was still there
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.read("UdpSocket::peek_from", |socket| socket.peek_from(buffer))
    }

    /// Sends one datagram to the first address that `address` stands for.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// let sent = one.send_to(b"hello", other.local_addr()?)?;
    /// assert_eq!(sent, 5);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the address is malformed or unknown, the datagram too long, or the system refuses.
    #[track_caller]
    pub fn send_to<A: ToSocketAddrs>(&self, bytes: &[u8], address: A) -> io::Result<usize> {
        check_may_wait("UdpSocket::send_to");
        let addresses = resolve(address, "UdpSocket::send_to")?;
        let address = *addresses.first().ok_or_else(no_address)?;
        self.0.write("UdpSocket::send_to", |socket| socket.send_to(bytes, address))
    }

    /// Receives one datagram from the connected address: its length, cut to that of the buffer.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.connect(other.local_addr()?)?;
    /// other.send_to(b"hello", one.local_addr()?)?;
    /// let mut buffer = [0; 64];
    /// assert_eq!(one.recv(&mut buffer)?, 5);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`recv_from`](Self::recv_from).
    #[track_caller]
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read("UdpSocket::recv", |socket| socket.recv(buffer))
    }

    /// Sends one datagram to the connected address.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.connect(other.local_addr()?)?;
    /// assert_eq!(one.send(b"hello")?, 5);
    /// let mut buffer = [0; 16];
    /// assert_eq!(other.recv_from(&mut buffer)?, (5, one.local_addr()?));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the socket is not connected, the datagram is too long, or the system refuses.
    #[track_caller]
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write("UdpSocket::send", |socket| socket.send(bytes))
    }

    /// Like [`recv_from`](Self::recv_from), without ever waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// let error = one.try_recv_from(&mut [0; 64]).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock); // nothing has come
    /// # drop(other);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no datagram now, or another error of the system.
    pub fn try_recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.0.io().recv_from(buffer)
    }

    /// Like [`recv`](Self::recv), without ever waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let socket = UdpSocket::bind("127.0.0.1:0")?;
    /// let error = socket.try_recv(&mut [0; 16]).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock); // nothing has arrived
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if there is no datagram now, or another error of the system.
    pub fn try_recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.io().recv(buffer)
    }

    /// Like [`send_to`](Self::send_to), to one address, without ever waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.try_send_to(b"hello", other.local_addr()?)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the system takes no datagram now, or as [`send_to`](Self::send_to).
    pub fn try_send_to(&self, bytes: &[u8], address: SocketAddr) -> io::Result<usize> {
        self.0.io().send_to(bytes, address)
    }

    /// Like [`send`](Self::send), without ever waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.connect(other.local_addr()?)?;
    /// assert_eq!(one.try_send(b"hello")?, 5);
    /// assert_eq!(other.recv_from(&mut [0; 16])?, (5, one.local_addr()?));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`WouldBlock`](io::ErrorKind::WouldBlock) if the system takes no datagram now, or as [`send`](Self::send).
    pub fn try_send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.io().send(bytes)
    }

    /// Like [`recv_from`](Self::recv_from), as a future for any executor, without a time limit. Dropping it loses no datagram.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// let mut buffer = [0; 16];
    /// let limit = std::time::Duration::from_millis(1);
    /// assert!(gossamer::timeout(limit, other.recv_from_async(&mut buffer)).is_err()); // nothing has come
    /// one.send_to(b"hello", other.local_addr()?)?;
    /// let (length, from) = gossamer::block_on(other.recv_from_async(&mut buffer))?;
    /// assert_eq!((&buffer[..length], from), (&b"hello"[..], one.local_addr()?));
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
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.connect(other.local_addr()?)?;
    /// other.send_to(b"hello", one.local_addr()?)?;
    /// let mut buffer = [0; 16];
    /// assert_eq!(gossamer::block_on(one.recv_async(&mut buffer))?, 5);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub async fn recv_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_async(|socket| socket.recv(buffer)).await
    }

    /// Like [`send_to`](Self::send_to), to one address, as a future for any executor, without a time limit.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// gossamer::block_on(one.send_to_async(b"hello", other.local_addr()?))?;
    /// assert_eq!(other.recv_from(&mut [0; 16])?, (5, one.local_addr()?));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`send_to`](Self::send_to).
    pub async fn send_to_async(&self, bytes: &[u8], address: SocketAddr) -> io::Result<usize> {
        self.0.write_async(|socket| socket.send_to(bytes, address)).await
    }

    /// Like [`send`](Self::send), as a future for any executor, without a time limit.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.connect(other.local_addr()?)?;
    /// gossamer::block_on(one.send_async(b"hello"))?;
    /// assert_eq!(other.recv_from(&mut [0; 16])?, (5, one.local_addr()?));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`send`](Self::send).
    pub async fn send_async(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_async(|socket| socket.send(bytes)).await
    }

    /// Whether datagrams may be sent to a broadcast address.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UdpSocket;
    /// let (one, other) = (UdpSocket::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
    /// one.set_broadcast(true)?; // to 255.255.255.255, say
    /// # drop(other);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.0.io().set_broadcast(broadcast)
    }
}
