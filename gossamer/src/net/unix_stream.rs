//! [`UnixStream`]: one connection inside the machine.

use crate::blocking::{hand_over, unblock_as};
use crate::net::UCred;
use crate::net::common::{LimitedSocket, every_socket, limited_socket};
use crate::net::fiber_socket::check_may_wait;
use crate::net::stream_calls::stream_calls;
use crate::net::unwinding::refuse_while_unwinding;
use rustix::net::RecvFlags;
use std::io::{self, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::SocketAddr;
use std::path::Path;

type StdUnixStream = std::os::unix::net::UnixStream;

/// A connection between two processes of a machine, as [`std::os::unix::net::UnixStream`]; waiting suspends the fiber only.
///
/// `Read` and `Write` are there for `&UnixStream` too, so one fiber may read while another writes. Dropping it closes the
/// connection.
///
/// ```
/// use gossamer::net::UnixStream;
/// use std::io::{Read, Write};
///
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// let (mut near, mut far) = UnixStream::pair()?;
/// near.write_all(b"inside")?;
/// drop(near);
/// let mut text = String::new();
/// far.read_to_string(&mut text)?;
/// assert_eq!(text, "inside");
/// assert_eq!(far.peer_cred()?.pid(), i32::try_from(std::process::id()).ok());
/// # Ok(())
/// # }).unwrap();
/// ```
pub struct UnixStream(LimitedSocket<StdUnixStream>);

every_socket!(UnixStream, SocketAddr);
limited_socket!(UnixStream, SocketAddr, StdUnixStream);
stream_calls!(UnixStream, read);

impl UnixStream {
    /// `stream` is in non-blocking mode.
    pub(crate) fn of_nonblocking(stream: StdUnixStream) -> Self {
        Self(LimitedSocket::new(stream))
    }

    /// Connects to the socket of a path. While the listener has as many connections waiting as it may have, this waits.
    ///
    /// # Errors
    /// If there is no such socket, nobody listens there, or the caller may not connect.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::connect_addr(&SocketAddr::from_pathname(path)?)
    }

    /// As [`connect`](Self::connect), to an address, which may be an abstract name
    /// ([`from_abstract_name`](std::os::linux::net::SocketAddrExt::from_abstract_name)).
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn connect_addr(address: &SocketAddr) -> io::Result<Self> {
        check_may_wait("UnixStream::connect");
        match connect_at_once(address) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                refuse_while_unwinding("UnixStream::connect")?;
                unblock_as("UnixStream::connect", blocking_connect(address))?.and_then(Self::from_std)
            }
            outcome => outcome,
        }
    }

    /// As [`connect`](Self::connect), as a future for any executor.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_async(path: impl AsRef<Path>) -> io::Result<Self> {
        let address = SocketAddr::from_pathname(path)?;
        match connect_at_once(&address) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                hand_over(blocking_connect(&address))?.await.and_then(Self::from_std)
            }
            outcome => outcome,
        }
    }

    /// Two ends of a connection without a name.
    ///
    /// # Errors
    /// The system's, for example because the process has too many open files.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (near, far) = StdUnixStream::pair()?;
        Ok((Self::from_std(near)?, Self::from_std(far)?))
    }

    /// Who has connected, or listens, at the other end.
    ///
    /// # Errors
    /// The system's.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of_peer(self.as_fd())
    }

    /// As `read`, as a future for any executor: some of what has come, or 0 bytes at the end. Dropping it loses nothing.
    ///
    /// # Errors
    /// As for `read`; time limits do not hold here.
    pub async fn read_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_async(|mut stream| stream.read(buffer)).await
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
        self.0.read("UnixStream::peek", |stream| {
            Ok(rustix::net::recv(stream, &mut *buffer, RecvFlags::PEEK).map(|(length, _)| length)?)
        })
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

/// # Errors
/// `WouldBlock` while the listener can take no more, which no poller tells the end of, or the system's.
fn connect_at_once(address: &SocketAddr) -> io::Result<UnixStream> {
    mio::net::UnixStream::connect_addr(address).map(|stream| UnixStream::of_nonblocking(stream.into()))
}

fn blocking_connect(address: &SocketAddr) -> impl FnOnce() -> io::Result<StdUnixStream> + Send + 'static {
    let address = address.clone();
    move || StdUnixStream::connect_addr(&address)
}

// Not `read_bytes`: where descriptors were sent along, a read ends early, and the next one finds more.
impl Read for &UnixStream {
    #[track_caller]
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read("UnixStream::read", |mut stream| stream.read(buffer))
    }

    #[track_caller]
    fn read_vectored(&mut self, buffers: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        self.0.read("UnixStream::read", |mut stream| stream.read_vectored(buffers))
    }
}
