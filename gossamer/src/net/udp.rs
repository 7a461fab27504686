//! [`UdpSocket`]: datagrams.

use crate::net::ToSocketAddrs;
use crate::net::address::{first_of, resolve};
use crate::net::limit::Limit;
use crate::net::source::{Call, Source, check_may_wait};
use crate::worker::readiness::Direction;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// A UDP socket, as [`std::net::UdpSocket`]; waiting suspends the fiber only.
///
/// For options that are not here, set them up on a socket of the standard library and hand it to
/// [`from_std`](Self::from_std).
///
/// # Panics
/// All calls that send, receive, bind or connect panic in a delegated closure or a callback, which cannot wait.
pub struct UdpSocket {
    source: Source<std::net::UdpSocket>,
    read_limit: Limit,
    write_limit: Limit,
}

impl UdpSocket {
    /// Binds a socket to an address, the first of several that works. Port 0 asks the system for a free one.
    ///
    /// # Errors
    /// If the address is malformed, unknown or taken, or the system refuses.
    pub fn bind<A: ToSocketAddrs>(address: A) -> io::Result<Self> {
        check_may_wait("UdpSocket::bind");
        let addresses = resolve(address, "UdpSocket::bind")?;
        first_of(&addresses, |address| Self::from_std(std::net::UdpSocket::bind(address)?))
    }

    /// Sets the address that [`send`](Self::send) sends to and that [`recv`](Self::recv) receives from.
    ///
    /// # Errors
    /// If the address is malformed or unknown, or the system refuses.
    pub fn connect<A: ToSocketAddrs>(&self, address: A) -> io::Result<()> {
        check_may_wait("UdpSocket::connect");
        let addresses = resolve(address, "UdpSocket::connect")?;
        first_of(&addresses, |address| self.source.io().connect(address))
    }

    fn reading(&self, name: &'static str) -> Call {
        Call { name, direction: Direction::Read, limit: self.read_limit.get() }
    }

    fn writing(&self, name: &'static str) -> Call {
        Call { name, direction: Direction::Write, limit: self.write_limit.get() }
    }

    /// Receives one datagram: its length, cut to that of the buffer, and who sent it.
    ///
    /// # Errors
    /// `TimedOut` after the limit of [`set_read_timeout`](Self::set_read_timeout), or the system's.
    pub fn recv_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source.wait(self.reading("UdpSocket::recv_from"), |socket| socket.recv_from(buffer))
    }

    /// As [`recv_from`](Self::recv_from), but the datagram stays.
    ///
    /// # Errors
    /// As [`recv_from`](Self::recv_from).
    pub fn peek_from(&self, buffer: &mut [u8]) -> io::Result<(usize, SocketAddr)> {
        self.source.wait(self.reading("UdpSocket::peek_from"), |socket| socket.peek_from(buffer))
    }

    /// Sends one datagram to the first address that `address` stands for.
    ///
    /// # Errors
    /// If the address is malformed or unknown, the datagram too long, or the system refuses.
    pub fn send_to<A: ToSocketAddrs>(&self, bytes: &[u8], address: A) -> io::Result<usize> {
        check_may_wait("UdpSocket::send_to");
        let addresses = resolve(address, "UdpSocket::send_to")?;
        let none = || io::Error::new(io::ErrorKind::InvalidInput, "an empty list of addresses");
        let address = *addresses.first().ok_or_else(none)?;
        self.source.wait(self.writing("UdpSocket::send_to"), |socket| socket.send_to(bytes, address))
    }

    /// Receives one datagram from the connected address: its length, cut to that of the buffer.
    ///
    /// # Errors
    /// As [`recv_from`](Self::recv_from).
    pub fn recv(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.wait(self.reading("UdpSocket::recv"), |socket| socket.recv(buffer))
    }

    /// Sends one datagram to the connected address.
    ///
    /// # Errors
    /// If the socket is not connected, the datagram is too long, or the system refuses.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        self.source.wait(self.writing("UdpSocket::send"), |socket| socket.send(bytes))
    }

    /// The address the socket is bound to.
    ///
    /// # Errors
    /// The system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.source.io().local_addr()
    }

    /// The connected address.
    ///
    /// # Errors
    /// If there is none.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.source.io().peer_addr()
    }

    /// Another handle of the same socket. It starts with the time limits of this one.
    ///
    /// # Errors
    /// The system's, for example because the process has too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        let source = Source::new(self.source.io().try_clone()?);
        Ok(Self { source, read_limit: self.read_limit.clone(), write_limit: self.write_limit.clone() })
    }

    /// How long receiving by this handle waits before it fails with `TimedOut`; `None`, the default, for as long as it
    /// takes.
    ///
    /// # Errors
    /// `InvalidInput` for a limit of zero.
    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.read_limit.set(limit)
    }

    /// How long sending by this handle waits before it fails with `TimedOut`; `None`, the default, for as long as it
    /// takes.
    ///
    /// # Errors
    /// `InvalidInput` for a limit of zero.
    pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.write_limit.set(limit)
    }

    /// Whether datagrams may be sent to a broadcast address.
    ///
    /// # Errors
    /// The system's.
    pub fn set_broadcast(&self, broadcast: bool) -> io::Result<()> {
        self.source.io().set_broadcast(broadcast)
    }

    /// The error that is pending on the socket, if any; this clears it.
    ///
    /// # Errors
    /// The system's.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.source.io().take_error()
    }

    /// Takes over a socket of the standard library and makes it non-blocking, clones of it included. Its time limits
    /// are not taken over.
    ///
    /// # Errors
    /// If it cannot be made non-blocking.
    pub fn from_std(socket: std::net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self { source: Source::new(socket), read_limit: Limit::default(), write_limit: Limit::default() })
    }

    /// Gives the socket to the standard library, in blocking mode.
    ///
    /// # Errors
    /// If it cannot be made blocking.
    pub fn into_std(self) -> io::Result<std::net::UdpSocket> {
        let socket = self.source.into_io();
        socket.set_nonblocking(false)?;
        Ok(socket)
    }
}

impl fmt::Debug for UdpSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.io().fmt(f)
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.io().as_fd()
    }
}

impl AsRawFd for UdpSocket {
    fn as_raw_fd(&self) -> RawFd {
        self.source.io().as_raw_fd()
    }
}

impl From<UdpSocket> for OwnedFd {
    fn from(socket: UdpSocket) -> Self {
        socket.source.into_io().into()
    }
}
