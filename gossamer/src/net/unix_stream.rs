//! [`UnixStream`]: one connection within a machine.

use crate::blocking::{hand_over, unblock_as};
use crate::net::UCred;
use crate::net::common::{every_socket, limited_socket};
use crate::net::fiber_socket::check_may_wait;
use crate::net::limited_socket::LimitedSocket;
use crate::net::stream_calls::stream_calls;
use crate::net::unwinding::refuse_while_unwinding;
use rustix::net::RecvFlags;
use std::io::{self, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::SocketAddr;
use std::path::Path;

type StdUnixStream = std::os::unix::net::UnixStream;

/// A connection between two processes of a machine, as [`std::os::unix::net::UnixStream`]; waiting suspends only the fiber.
///
/// `Read` and `Write` are also implemented for `&UnixStream`, so one fiber may read while another writes. Dropping it
/// closes the connection.
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

/// What its examples begin with.
macro_rules! connected {
    () => {
        "use gossamer::net::UnixStream;\n\
        let (socket, peer) = UnixStream::pair()?;"
    };
}

every_socket! {
    UnixStream, SocketAddr,
    made: connected!(),
    local: "assert!(socket.local_addr()?.is_unnamed()); // as both of a pair are"
}
limited_socket! {
    UnixStream, SocketAddr, StdUnixStream,
    made: connected!(),
    remote: "assert!(socket.peer_addr()?.is_unnamed()); // as both of a pair are",
    calls: try_write, try_read
}
stream_calls!(UnixStream, connected!(), read);

impl UnixStream {
    /// `stream` is in non-blocking mode.
    pub(crate) fn of_nonblocking(stream: StdUnixStream) -> Self {
        Self(LimitedSocket::new(stream))
    }

    /// Connects to the socket at a path. Waits while the queue of the listener is full.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-connect-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let client = UnixStream::connect(&path)?;
    /// assert_eq!(client.peer_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If there is no such socket, nobody listens there, or the caller may not connect.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn connect(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::connect_addr(&SocketAddr::from_pathname(path)?)
    }

    /// Like [`connect`](Self::connect), to an address, which may be an abstract name
    /// ([`from_abstract_name`](std::os::linux::net::SocketAddrExt::from_abstract_name)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    /// let name = SocketAddr::from_abstract_name(format!("connect-{}", std::process::id()))?;
    /// let _listener = UnixListener::bind_addr(&name)?;
    /// let client = UnixStream::connect_addr(&name)?;
    /// assert_eq!(client.peer_addr()?.as_abstract_name(), name.as_abstract_name());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`connect`](Self::connect).
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

    /// Like [`connect`](Self::connect), as a future for any executor.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-connect-async-{}", std::process::id()));
    /// let _listener = UnixListener::bind(&path)?;
    /// let limit = std::time::Duration::from_secs(60);
    /// let client = gossamer::timeout(limit, UnixStream::connect_async(&path)).expect("within a minute")?;
    /// assert_eq!(client.peer_addr()?.as_pathname(), Some(path.as_path()));
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`connect`](Self::connect).
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
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// use std::io::{Read, Write};
    /// let (mut one, mut other) = UnixStream::pair()?;
    /// one.write_all(b"hello")?;
    /// let mut text = [0; 5];
    /// other.read_exact(&mut text)?;
    /// assert_eq!(&text, b"hello");
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call, for example because the process has too many open files.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (near, far) = StdUnixStream::pair()?;
        Ok((Self::from_std(near)?, Self::from_std(far)?))
    }

    /// The process that connected or listens at the other end.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// let (one, _other) = UnixStream::pair()?;
    /// assert_eq!(one.peer_cred()?.pid(), Some(std::process::id() as i32)); // made the pair
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn peer_cred(&self) -> io::Result<UCred> {
        UCred::of_peer(self.as_fd())
    }

    /// Like `read`, as a future for any executor: some of the bytes that have arrived, or 0 at the end. Dropping it loses nothing.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// let (one, other) = UnixStream::pair()?;
    /// let mut buffer = [0; 16];
    /// let limit = std::time::Duration::from_millis(1);
    /// assert!(gossamer::timeout(limit, one.read_async(&mut buffer)).is_err()); // nothing is lost by giving up
    /// other.try_write(b"hello")?;
    /// assert_eq!(gossamer::block_on(one.read_async(&mut buffer))?, 5);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As for `read`; time limits do not apply here.
    pub async fn read_async(&self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_async(|mut stream| stream.read(buffer)).await
    }

    /// Like `write`, as a future for any executor: returns how many bytes the system took. If it is dropped before it is ready,
    /// none.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// let (one, other) = UnixStream::pair()?;
    /// assert_eq!(gossamer::block_on(one.write_async(b"hello"))?, 5);
    /// drop(one);
    /// assert_eq!(std::io::read_to_string(&other)?, "hello");
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
    /// use gossamer::net::UnixStream;
    /// use std::io::Write;
    /// let (mut one, other) = UnixStream::pair()?;
    /// one.write_all(b"GET /")?;
    /// drop(one);
    /// let mut first = [0];
    /// other.peek(&mut first)?; // tells the protocol
    /// assert_eq!(&first, b"G");
    /// assert_eq!(std::io::read_to_string(&other)?, "GET /");
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
        self.0.read("UnixStream::peek", |stream| {
            Ok(rustix::net::recv(stream, &mut *buffer, RecvFlags::PEEK).map(|(length, _)| length)?)
        })
    }

    /// Ends reading, writing or both, on every handle of the connection. Waiting calls are woken: a read gives 0
    /// bytes, a write fails.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::UnixStream;
    /// use std::io::Write;
    /// use std::net::Shutdown;
    /// let (mut one, other) = UnixStream::pair()?;
    /// one.write_all(b"a question")?;
    /// one.shutdown(Shutdown::Write)?; // no more follows, but an answer may come
    /// assert_eq!(std::io::read_to_string(&other)?, "a question");
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

/// # Errors
/// `WouldBlock` while the listener's queue is full, whose end no poller reports, or another error of the system.
fn connect_at_once(address: &SocketAddr) -> io::Result<UnixStream> {
    mio::net::UnixStream::connect_addr(address).map(|stream| UnixStream::of_nonblocking(stream.into()))
}

fn blocking_connect(address: &SocketAddr) -> impl FnOnce() -> io::Result<StdUnixStream> + Send + 'static {
    let address = address.clone();
    move || StdUnixStream::connect_addr(&address)
}

// Not `read_bytes`: a read ends early where descriptors were sent along, and the next one finds more.
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
