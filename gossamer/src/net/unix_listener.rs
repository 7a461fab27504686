//! [`UnixListener`]: waiting for connections within a machine.

use crate::net::UnixStream;
use crate::net::closing::{end_listening, unix_accept_error};
use crate::net::common::every_socket;
use crate::net::fiber_socket::{Call, FiberSocket, check_may_wait};
use crate::worker::fibers::readiness::Direction;
use std::io;
use std::iter::FusedIterator;
use std::os::fd::AsFd;
use std::os::unix::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

type StdUnixListener = std::os::unix::net::UnixListener;

/// A Unix socket that waits for connections, as [`std::os::unix::net::UnixListener`]; waiting suspends only the fiber.
///
/// Dropping it closes it, but leaves the file at its path: remove that before the next `bind`. An abstract name has
/// no file.
///
/// ```
/// use gossamer::net::{UnixListener, UnixStream};
/// use std::os::linux::net::SocketAddrExt;
/// use std::os::unix::net::SocketAddr;
///
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// let name = SocketAddr::from_abstract_name(format!("gossamer-{}", std::process::id()))?;
/// let listener = UnixListener::bind_addr(&name)?;
/// let _client = UnixStream::connect_addr(&name)?;
/// let (stream, _peer) = listener.accept()?;
/// assert_eq!(stream.local_addr()?.as_abstract_name(), name.as_abstract_name());
/// # Ok(())
/// # }).unwrap();
/// ```
pub struct UnixListener(FiberSocket<mio::net::UnixListener>);

every_socket! {
    UnixListener, SocketAddr,
    made: "use gossamer::net::UnixListener;\n\
        # let path = std::env::temp_dir().join(format!(\"gossamer-listener-{}-{}\", std::process::id(), line!()));\n\
        let socket = UnixListener::bind(&path)?;\n\
        # std::fs::remove_file(&path)?;",
    local: "assert_eq!(socket.local_addr()?.as_pathname(), Some(path.as_path()));"
}

impl UnixListener {
    fn wrap(listener: StdUnixListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self(FiberSocket::new(mio::net::UnixListener::from_std(listener))))
    }

    /// Makes a socket at this path, and listens.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-bind-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let _client = UnixStream::connect(&path)?;
    /// assert!(listener.accept().is_ok());
    /// std::fs::remove_file(&path)?; // the listener leaves it
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If there is a file at that path, the path is too long, or the system refuses.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn bind(path: impl AsRef<Path>) -> io::Result<Self> {
        Self::bind_addr(&SocketAddr::from_pathname(path)?)
    }

    /// Like [`bind`](Self::bind), at an address, which may be an abstract name
    /// ([`from_abstract_name`](std::os::linux::net::SocketAddrExt::from_abstract_name)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// use std::os::{linux::net::SocketAddrExt, unix::net::SocketAddr};
    /// let name = SocketAddr::from_abstract_name(format!("bind-{}", std::process::id()))?;
    /// let listener = UnixListener::bind_addr(&name)?; // no file is left
    /// let _client = UnixStream::connect_addr(&name)?;
    /// assert!(listener.accept().is_ok());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the name is taken, or the system refuses.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn bind_addr(address: &SocketAddr) -> io::Result<Self> {
        check_may_wait("UnixListener::bind");
        Self::wrap(StdUnixListener::bind_addr(address)?)
    }

    /// Waits for the next connection; any number of fibers may wait at once.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-accept-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let mut client = UnixStream::connect(&path)?;
    /// let (stream, _address) = listener.accept()?;
    /// assert_eq!(stream.peer_cred()?.pid(), Some(std::process::id() as i32)); // who it is
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `NotConnected` once the listener is [closed](Self::close), or another error of the system, for example because the process has too many
    /// open files.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn accept(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.accept_within("UnixListener::accept", None)
    }

    /// Like [`accept`](Self::accept), for at most `limit`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-accept-timeout-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let error = listener.accept_timeout(std::time::Duration::from_millis(1)).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// `TimedOut` if there was no connection within the limit, or as [`accept`](Self::accept).
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn accept_timeout(&self, limit: Duration) -> io::Result<(UnixStream, SocketAddr)> {
        self.accept_within("UnixListener::accept_timeout", Some(limit))
    }

    /// Like [`accept`](Self::accept), as a future for any executor. Dropping it loses no connection.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-accept-async-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let _client = UnixStream::connect(&path)?;
    /// let limit = std::time::Duration::from_secs(60);
    /// let accepted = gossamer::timeout(limit, listener.accept_async());
    /// assert!(accepted.expect("within a minute").is_ok());
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`accept`](Self::accept).
    pub async fn accept_async(&self) -> io::Result<(UnixStream, SocketAddr)> {
        self.0.wait_async(Direction::Read, accept_from).await
    }

    #[track_caller]
    fn accept_within(
        &self,
        name: &'static str,
        limit: Option<Duration>,
    ) -> io::Result<(UnixStream, SocketAddr)> {
        self.0.wait(Call::new(name, Direction::Read, limit), accept_from)
    }

    /// Ends listening, on every handle of the socket: waiting [`accept`](Self::accept) calls return an error of kind
    /// `NotConnected` at once, and new clients are refused. Connections that already wait can still be accepted
    /// before that.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-close-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// listener.close()?;
    /// assert_eq!(listener.accept().unwrap_err().kind(), std::io::ErrorKind::NotConnected);
    /// assert!(UnixStream::connect(&path).is_err());
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn close(&self) -> io::Result<()> {
        end_listening(self)
    }

    /// An iterator over connections, with one `accept` for each. It never ends by itself: once the listener is
    /// [closed](Self::close), each item is an error.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-incoming-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let _client = UnixStream::connect(&path)?;
    /// for stream in listener.incoming() {
    ///     assert_eq!(stream?.peer_cred()?.pid(), Some(std::process::id() as i32));
    ///     listener.close()?;
    ///     break;
    /// }
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn incoming(&self) -> UnixIncoming<'_> {
        UnixIncoming { listener: self }
    }

    /// Another handle of the same socket: each connection is accepted by one of them.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-try-clone-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let other = listener.try_clone()?; // for another fiber
    /// let _client = UnixStream::connect(&path)?;
    /// assert!(other.accept().is_ok());
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call, for example because the process has too many open files.
    pub fn try_clone(&self) -> io::Result<Self> {
        Self::wrap(self.as_fd().try_clone_to_owned()?.into())
    }

    /// Takes over a listener of the standard library and makes it non-blocking, clones of it included.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-from-std-{}", std::process::id()));
    /// let inherited = std::os::unix::net::UnixListener::bind(&path)?; // for example from a service manager
    /// let listener = UnixListener::from_std(inherited)?;
    /// let _client = UnixStream::connect(&path)?;
    /// assert!(listener.accept().is_ok());
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If it cannot be made non-blocking.
    pub fn from_std(listener: StdUnixListener) -> io::Result<Self> {
        Self::wrap(listener)
    }

    /// Gives the socket to the standard library, in blocking mode.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{UnixListener, UnixStream};
    /// # let path = std::env::temp_dir().join(format!("gossamer-into-std-{}", std::process::id()));
    /// let listener = UnixListener::bind(&path)?;
    /// let listener = listener.into_std()?; // for a library that knows no fibers
    /// let _client = UnixStream::connect(&path)?;
    /// assert!(listener.accept().is_ok()); // blocks its thread
    /// # std::fs::remove_file(&path)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If it cannot be made blocking.
    pub fn into_std(self) -> io::Result<StdUnixListener> {
        let listener = StdUnixListener::from(self.0.into_io());
        listener.set_nonblocking(false)?;
        Ok(listener)
    }
}

fn accept_from(listener: &mio::net::UnixListener) -> io::Result<(UnixStream, SocketAddr)> {
    let (stream, peer) = listener.accept().map_err(|error| unix_accept_error(listener, error))?;
    Ok((UnixStream::of_nonblocking(stream.into()), peer))
}

/// An iterator over connections: what [`UnixListener::incoming`] returns.
#[derive(Debug)]
#[must_use = "iterators do nothing unless consumed"]
pub struct UnixIncoming<'a> {
    listener: &'a UnixListener,
}

impl Iterator for UnixIncoming<'_> {
    type Item = io::Result<UnixStream>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.listener.accept().map(|(stream, _peer)| stream))
    }
}

impl FusedIterator for UnixIncoming<'_> {}

impl<'a> IntoIterator for &'a UnixListener {
    type Item = io::Result<UnixStream>;
    type IntoIter = UnixIncoming<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.incoming()
    }
}
