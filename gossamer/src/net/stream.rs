//! [`TcpStream`]: one connection.

use crate::net::ToSocketAddrs;
use crate::net::address::{first_of, resolve};
use crate::net::common::{LimitedSocket, every_socket, limited_socket};
use crate::net::fiber_socket::check_may_wait;
use crate::net::limit::Limit;
use crate::worker::fibers::readiness::Direction;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

/// A TCP connection, as [`std::net::TcpStream`]; waiting suspends the fiber only.
///
/// `Read` and `Write` are there for `&TcpStream` too, so one fiber may read while another writes. Dropping it closes the
/// connection.
pub struct TcpStream(LimitedSocket<std::net::TcpStream>);

every_socket!(TcpStream);
limited_socket!(TcpStream);

impl TcpStream {
    /// `stream` is in non-blocking mode.
    pub(crate) fn of_nonblocking(stream: std::net::TcpStream) -> Self {
        Self(LimitedSocket::new(stream))
    }

    /// Connects to an address, the first of several that works. The system gives up after a minute or two.
    ///
    /// # Errors
    /// If the address is malformed or unknown, nobody listens there, or nobody answers.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn connect<A: ToSocketAddrs>(address: A) -> io::Result<Self> {
        check_may_wait("TcpStream::connect");
        let addresses = resolve(address, "TcpStream::connect")?;
        first_of(&addresses, |address| Self::connect_within("TcpStream::connect", address, None))
    }

    /// As [`connect`](Self::connect), waiting for at most `limit`.
    ///
    /// # Errors
    /// `TimedOut` if nobody has answered within the limit, `InvalidInput` if it is zero, or what the system says.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn connect_timeout(address: &SocketAddr, limit: Duration) -> io::Result<Self> {
        Limit::default().set(Some(limit))?;
        Self::connect_within("TcpStream::connect_timeout", *address, Some(limit))
    }

    fn connect_within(name: &'static str, address: SocketAddr, limit: Option<Duration>) -> io::Result<Self> {
        check_may_wait(name);
        let stream = Self::of_nonblocking(mio::net::TcpStream::connect(address)?.into());
        stream.0.write_within(name, limit, |stream| {
            if let Some(error) = stream.take_error()? {
                return Err(error);
            }
            match stream.peer_addr() {
                Err(error) if error.kind() == io::ErrorKind::NotConnected => {
                    Err(io::ErrorKind::WouldBlock.into())
                }
                outcome => outcome,
            }
        })?;
        Ok(stream)
    }

    /// Reads what has come, without taking it: the next read gives it again.
    ///
    /// # Errors
    /// As for `read`.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read("TcpStream::peek", |stream| stream.peek(buffer))
    }

    /// Ends reading, writing or both, on every handle of the connection. Whoever waits there is woken: a read gives 0
    /// bytes, a write fails.
    ///
    /// # Errors
    /// The system's.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.0.io().shutdown(how)
    }

    /// What [`set_read_timeout`](Self::set_read_timeout) has set.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.limit(Direction::Read).get())
    }

    /// What [`set_write_timeout`](Self::set_write_timeout) has set.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.0.limit(Direction::Write).get())
    }

    /// Whether small writes are sent at once instead of being gathered (`TCP_NODELAY`).
    ///
    /// # Errors
    /// The system's.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.0.io().set_nodelay(nodelay)
    }

    /// What [`set_nodelay`](Self::set_nodelay) has set.
    ///
    /// # Errors
    /// The system's.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.0.io().nodelay()
    }

    /// How many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    /// The system's.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.0.io().set_ttl(ttl)
    }

    /// What [`set_ttl`](Self::set_ttl) has set.
    ///
    /// # Errors
    /// The system's.
    pub fn ttl(&self) -> io::Result<u32> {
        self.0.io().ttl()
    }
}

impl Read for &TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read("TcpStream::read", |mut stream| stream.read(buffer))
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.read("TcpStream::read", |mut stream| stream.read_vectored(buffers))
    }
}

impl Write for &TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write("TcpStream::write", |mut stream| stream.write(bytes))
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write("TcpStream::write", |mut stream| stream.write_vectored(buffers))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Read for TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        (&*self).read(buffer)
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        (&*self).read_vectored(buffers)
    }
}

impl Write for TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self).write_vectored(buffers)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
