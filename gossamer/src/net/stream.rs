//! [`TcpStream`]: one connection.

use crate::net::ToSocketAddrs;
use crate::net::address::{first_of, no_address, resolve, resolve_async};
use crate::net::available::MOST_AVAILABLE;
use crate::net::common::{every_socket, limited_socket};
use crate::net::fiber_socket::check_may_wait;
use crate::net::limit::Limit;
use crate::net::limited_socket::LimitedSocket;
use crate::net::stream_calls::stream_calls;
use std::io::{self, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

/// A TCP connection, as [`std::net::TcpStream`]; waiting suspends only the fiber.
///
/// `Read` and `Write` are also implemented for `&TcpStream`, so one fiber may read while another writes. Dropping it
/// closes the connection.
pub struct TcpStream(LimitedSocket<std::net::TcpStream>);

/// What its examples begin with.
macro_rules! connected {
    () => {
        "use gossamer::net::{TcpListener, TcpStream};\n\
        let listener = TcpListener::bind(\"127.0.0.1:0\")?;\n\
        let socket = TcpStream::connect(listener.local_addr()?)?;\n\
        let (peer, _address) = listener.accept()?;"
    };
}

every_socket! {
    TcpStream, SocketAddr,
    made: connected!(),
    local: "assert_eq!(socket.local_addr()?, peer.peer_addr()?);"
}
limited_socket! {
    TcpStream, SocketAddr, std::net::TcpStream,
    made: connected!(),
    remote: "assert_eq!(socket.peer_addr()?, listener.local_addr()?);",
    calls: try_write, try_read
}
stream_calls!(TcpStream, connected!(), read_bytes, MOST_AVAILABLE);

impl TcpStream {
    /// `stream` is in non-blocking mode.
    pub(crate) fn of_nonblocking(stream: std::net::TcpStream) -> Self {
        Self(LimitedSocket::new(stream))
    }

    /// Connects to an address, the first of several that works. The system gives up after a minute or two.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// use std::io::{Read, Write};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut client = TcpStream::connect(listener.local_addr()?)?;
    /// let (mut server, _peer) = listener.accept()?;
    /// client.write_all(b"hello")?;
    /// let mut text = [0; 5];
    /// server.read_exact(&mut text)?;
    /// assert_eq!(&text, b"hello");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
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

    /// Like [`connect`](Self::connect), waiting for at most `limit`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let limit = std::time::Duration::from_secs(60);
    /// let client = TcpStream::connect_timeout(&listener.local_addr()?, limit)?;
    /// assert_eq!(client.peer_addr()?, listener.local_addr()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `TimedOut` if nobody answered within the limit, `InvalidInput` if it is zero, or another error of the system.
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

    /// Like [`connect`](Self::connect), as a future for any executor.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let limit = std::time::Duration::from_secs(60);
    /// let connecting = gossamer::timeout(limit, TcpStream::connect_async(listener.local_addr()?));
    /// let client = connecting.expect("within a minute")?;
    /// assert_eq!(client.peer_addr()?, listener.local_addr()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`connect`](Self::connect).
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

    /// Like `read`, as a future for any executor: some of the bytes that have arrived, or 0 at the end. Dropping it loses nothing.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// use gossamer::timeout;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// let mut buffer = [0; 16];
    /// let silent = timeout(std::time::Duration::from_millis(1), client.read_async(&mut buffer));
    /// assert!(silent.is_err()); // and nothing is lost by giving up
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As for `read`; time limits do not apply here.
    pub async fn read_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_bytes_async(buffer.len(), |mut stream| stream.read(buffer)).await
    }

    /// Like `write`, as a future for any executor: returns how many bytes the system took. If it is dropped before it is ready,
    /// none.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// let (server, _peer) = listener.accept()?;
    /// assert_eq!(gossamer::block_on(client.write_async(b"hello"))?, 5);
    /// drop(client);
    /// assert_eq!(std::io::read_to_string(&server)?, "hello");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As for `write`; time limits do not apply here.
    pub async fn write_async(&self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_async(|mut stream| stream.write(bytes)).await
    }

    /// Reads without consuming: the next read returns the same bytes again.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// use std::io::{Read, Write};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// TcpStream::connect(listener.local_addr()?)?.write_all(b"GET /")?;
    /// let mut server = listener.accept()?.0;
    /// let mut first = [0];
    /// server.peek(&mut first)?; // tells the protocol
    /// assert_eq!(&first, b"G");
    /// let mut text = String::new();
    /// server.read_to_string(&mut text)?;
    /// assert_eq!(text, "GET /");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
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

    /// Ends reading, writing or both, on every handle of the connection. Waiting calls are woken: a read gives 0
    /// bytes, a write fails.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// use std::io::{Read, Write};
    /// use std::net::Shutdown;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let mut client = TcpStream::connect(listener.local_addr()?)?;
    /// client.write_all(b"a question")?;
    /// client.shutdown(Shutdown::Write)?; // no more follows, but an answer may come
    /// let mut question = String::new();
    /// listener.accept()?.0.read_to_string(&mut question)?;
    /// assert_eq!(question, "a question");
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

/// The outcome of connecting, in the form of an attempt.
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
