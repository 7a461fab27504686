//! [`TcpStream`]: one connection.

use crate::net::ToSocketAddrs;
use crate::net::address::{first_of, no_address, resolve, resolve_async};
use crate::net::available::MOST_AVAILABLE;
use crate::net::common::{LimitedSocket, every_socket, limited_socket};
use crate::net::fiber_socket::check_may_wait;
use crate::net::limit::Limit;
use crate::net::stream_calls::stream_calls;
use std::io::{self, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

/// A TCP connection, as [`std::net::TcpStream`]; waiting suspends the fiber only.
///
/// `Read` and `Write` are there for `&TcpStream` too, so one fiber may read while another writes. Dropping it closes the
/// connection.
pub struct TcpStream(LimitedSocket<std::net::TcpStream>);

every_socket!(TcpStream, SocketAddr);
limited_socket!(TcpStream, SocketAddr, std::net::TcpStream);
stream_calls!(TcpStream, read_bytes, MOST_AVAILABLE);

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
    #[track_caller]
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
    #[track_caller]
    pub fn connect_timeout(address: &SocketAddr, limit: Duration) -> io::Result<Self> {
        Limit::default().set(Some(limit))?;
        Self::connect_within("TcpStream::connect_timeout", *address, Some(limit))
    }

    #[track_caller]
    fn connect_within(name: &'static str, address: SocketAddr, limit: Option<Duration>) -> io::Result<Self> {
        check_may_wait(name);
        let stream = Self::of_nonblocking(mio::net::TcpStream::connect(address)?.into());
        stream.0.write_within(name, limit, outcome_of_connecting)?;
        Ok(stream)
    }

    /// As [`connect`](Self::connect), as a future for any executor.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_async<A: ToSocketAddrs>(address: A) -> io::Result<Self> {
        let mut outcome = Err(no_address());
        for address in resolve_async(address).await? {
            outcome = Self::connect_to(address).await;
            if outcome.is_ok() {
                break;
            }
        }
        outcome
    }

    async fn connect_to(address: SocketAddr) -> io::Result<Self> {
        let stream = Self::of_nonblocking(mio::net::TcpStream::connect(address)?.into());
        stream.0.write_async(outcome_of_connecting).await?;
        Ok(stream)
    }

    /// As `read`, as a future for any executor: some of what has come, or 0 bytes at the end. Dropping it loses nothing.
    ///
    /// # Errors
    /// As for `read`; time limits do not hold here.
    pub async fn read_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_bytes_async(buffer.len(), |mut stream| stream.read(buffer)).await
    }

    /// As `write`, as a future for any executor: returns how many bytes the system has taken. If it is dropped before it is ready,
    /// none.
    ///
    /// # Errors
    /// As for `write`; time limits do not hold here.
    pub async fn write_async(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_async(|mut stream| stream.write(bytes)).await
    }

    /// Reads what has come, without taking it: the next read gives it again.
    ///
    /// # Errors
    /// As for `read`.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
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
}

/// What has become of a connection that is being made, as an attempt.
fn outcome_of_connecting(stream: &std::net::TcpStream) -> io::Result<SocketAddr> {
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    match stream.peer_addr() {
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Err(io::ErrorKind::WouldBlock.into()),
        outcome => outcome,
    }
}

impl Read for &TcpStream {
    #[track_caller]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_bytes("TcpStream::read", buffer.len(), |mut stream| stream.read(buffer))
    }

    #[track_caller]
    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let capacity = buffers.iter().map(|buffer| buffer.len()).sum();
        self.0.read_bytes("TcpStream::read", capacity, |mut stream| stream.read_vectored(buffers))
    }
}
