//! [`TcpStream`]: one connection.

use crate::net::ToSocketAddrs;
use crate::net::address::{first_of, resolve};
use crate::net::limit::Limit;
use crate::net::source::{Call, Source, check_may_wait};
use crate::worker::readiness::Direction;
use std::fmt;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::time::Duration;

/// A TCP connection, as [`std::net::TcpStream`]; waiting suspends the fiber only.
///
/// `Read` and `Write` are there for `&TcpStream` too, so one fiber may read while another writes. Dropping it closes the
/// connection.
pub struct TcpStream {
    source: Source<std::net::TcpStream>,
    read_limit: Limit,
    write_limit: Limit,
}

impl TcpStream {
    /// `stream` is in non-blocking mode.
    pub(crate) fn of_nonblocking(stream: std::net::TcpStream) -> Self {
        Self { source: Source::new(stream), read_limit: Limit::default(), write_limit: Limit::default() }
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
        stream.source.wait(Call { name, direction: Direction::Write, limit }, |stream| {
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

    fn reading(&self, name: &'static str) -> Call {
        Call { name, direction: Direction::Read, limit: self.read_limit.get() }
    }

    fn writing(&self) -> Call {
        Call { name: "TcpStream::write", direction: Direction::Write, limit: self.write_limit.get() }
    }

    /// Reads what has come, without taking it: the next read gives it again.
    ///
    /// # Errors
    /// As for `read`.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.wait(self.reading("TcpStream::peek"), |stream| stream.peek(buffer))
    }

    /// The address of the other end.
    ///
    /// # Errors
    /// The system's.
    pub fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.source.io().peer_addr()
    }

    /// The address of this end.
    ///
    /// # Errors
    /// The system's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.source.io().local_addr()
    }

    /// Ends reading, writing or both, on every handle of the connection. Whoever waits there is woken: a read gives 0
    /// bytes, a write fails.
    ///
    /// # Errors
    /// The system's.
    pub fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.source.io().shutdown(how)
    }

    /// Another handle of the same connection. It starts with the time limits of this one.
    ///
    /// # Errors
    /// The system's, for example because the process has too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        let source = Source::new(self.source.io().try_clone()?);
        Ok(Self { source, read_limit: self.read_limit.clone(), write_limit: self.write_limit.clone() })
    }

    /// How long a read by this handle waits before it fails with `TimedOut`; `None`, the default, for as long as it
    /// takes.
    ///
    /// # Errors
    /// `InvalidInput` for a limit of zero.
    pub fn set_read_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.read_limit.set(limit)
    }

    /// How long a write by this handle waits before it fails with `TimedOut`; `None`, the default, for as long as it
    /// takes. `write_all` is several writes.
    ///
    /// # Errors
    /// `InvalidInput` for a limit of zero.
    pub fn set_write_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        self.write_limit.set(limit)
    }

    /// What [`set_read_timeout`](Self::set_read_timeout) has set.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn read_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.read_limit.get())
    }

    /// What [`set_write_timeout`](Self::set_write_timeout) has set.
    ///
    /// # Errors
    /// None; a `Result` as in std.
    pub fn write_timeout(&self) -> io::Result<Option<Duration>> {
        Ok(self.write_limit.get())
    }

    /// Whether small writes are sent at once instead of being gathered (`TCP_NODELAY`).
    ///
    /// # Errors
    /// The system's.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        self.source.io().set_nodelay(nodelay)
    }

    /// What [`set_nodelay`](Self::set_nodelay) has set.
    ///
    /// # Errors
    /// The system's.
    pub fn nodelay(&self) -> io::Result<bool> {
        self.source.io().nodelay()
    }

    /// How many routers a packet may pass (`IP_TTL`).
    ///
    /// # Errors
    /// The system's.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        self.source.io().set_ttl(ttl)
    }

    /// What [`set_ttl`](Self::set_ttl) has set.
    ///
    /// # Errors
    /// The system's.
    pub fn ttl(&self) -> io::Result<u32> {
        self.source.io().ttl()
    }

    /// The error that is pending on the socket, if any; this clears it.
    ///
    /// # Errors
    /// The system's.
    pub fn take_error(&self) -> io::Result<Option<io::Error>> {
        self.source.io().take_error()
    }

    /// Takes over a connected stream of the standard library and makes it non-blocking, clones of it included. Its
    /// time limits are not taken over.
    ///
    /// # Errors
    /// If it cannot be made non-blocking.
    pub fn from_std(stream: std::net::TcpStream) -> io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self::of_nonblocking(stream))
    }

    /// Gives the connection to the standard library, in blocking mode.
    ///
    /// # Errors
    /// If it cannot be made blocking.
    pub fn into_std(self) -> io::Result<std::net::TcpStream> {
        let stream = self.source.into_io();
        stream.set_nonblocking(false)?;
        Ok(stream)
    }
}

impl Read for &TcpStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.source.wait(self.reading("TcpStream::read"), |mut stream| stream.read(buffer))
    }

    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.source.wait(self.reading("TcpStream::read"), |mut stream| stream.read_vectored(buffers))
    }
}

impl Write for &TcpStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.source.wait(self.writing(), |mut stream| stream.write(bytes))
    }

    fn write_vectored(&mut self, buffers: &[IoSlice<'_>]) -> io::Result<usize> {
        self.source.wait(self.writing(), |mut stream| stream.write_vectored(buffers))
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

impl fmt::Debug for TcpStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.io().fmt(f)
    }
}

impl AsFd for TcpStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.source.io().as_fd()
    }
}

impl AsRawFd for TcpStream {
    fn as_raw_fd(&self) -> RawFd {
        self.source.io().as_raw_fd()
    }
}

impl From<TcpStream> for OwnedFd {
    fn from(stream: TcpStream) -> Self {
        stream.source.into_io().into()
    }
}
