//! [`TcpListener`]: waiting for connections.

use crate::net::address::{first_of, resolve};
use crate::net::builder::TcpListenerBuilder;
use crate::net::closing::{accept_error, end_listening};
use crate::net::common::every_socket;
use crate::net::fiber_socket::{Call, FiberSocket, check_may_wait};
use crate::net::{TcpStream, ToSocketAddrs};
use crate::worker::fibers::readiness::Direction;
use std::io;
use std::iter::FusedIterator;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;

/// A TCP socket that waits for connections, as [`std::net::TcpListener`]; waiting suspends only the fiber.
///
/// Dropping it closes it, and resets connections that were not accepted.
pub struct TcpListener(FiberSocket<mio::net::TcpListener>);

every_socket! {
    TcpListener, SocketAddr,
    made: "use gossamer::net::TcpListener;\n\
        let socket = TcpListener::bind(\"127.0.0.1:0\")?;",
    local: "assert_ne!(socket.local_addr()?.port(), 0); // one that was free"
}

impl TcpListener {
    pub(crate) fn wrap(listener: std::net::TcpListener) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        Ok(Self(FiberSocket::new(mio::net::TcpListener::from_std(listener))))
    }

    /// Binds a socket to an address, the first of several that works, and listens. Port 0 asks the system for a
    /// free one: see [`local_addr`](Self::local_addr).
    ///
    /// Up to 4096 connections may wait to be accepted, or as many as the system allows (`net.core.somaxconn`).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// assert_ne!(listener.local_addr()?.port(), 0); // one that was free
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If the address is malformed, unknown or taken, or the system refuses.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(address: A) -> io::Result<Self> {
        check_may_wait("TcpListener::bind");
        let addresses = resolve(address, "TcpListener::bind")?;
        let with_defaults = TcpListenerBuilder::new();
        first_of(&addresses, |address| with_defaults.bind_to(address))
    }

    /// Settings for a listener to be bound: [`TcpListenerBuilder`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let listener = TcpListener::builder().backlog(16).nodelay(true).bind("127.0.0.1:0")?;
    /// assert_ne!(listener.local_addr()?.port(), 0);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn builder() -> TcpListenerBuilder {
        TcpListenerBuilder::new()
    }

    /// Waits for the next connection; any number of fibers may wait at once.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// let (stream, peer) = listener.accept()?;
    /// assert_eq!(stream.peer_addr()?, peer);
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
    pub fn accept(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.accept_within("TcpListener::accept", None)
    }

    /// Like [`accept`](Self::accept), for at most `limit`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let error = listener.accept_timeout(std::time::Duration::from_millis(1)).unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    /// # let _: Option<TcpStream> = None;
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
    pub fn accept_timeout(&self, limit: Duration) -> io::Result<(TcpStream, SocketAddr)> {
        self.accept_within("TcpListener::accept_timeout", Some(limit))
    }

    /// Like [`accept`](Self::accept), as a future for any executor. Dropping it loses no connection.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// let (_server, peer) = gossamer::block_on(listener.accept_async())?;
    /// assert_eq!(peer, client.local_addr()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`accept`](Self::accept).
    pub async fn accept_async(&self) -> io::Result<(TcpStream, SocketAddr)> {
        self.0.wait_async(Direction::Read, accept_from).await
    }

    #[track_caller]
    fn accept_within(
        &self,
        name: &'static str,
        limit: Option<Duration>,
    ) -> io::Result<(TcpStream, SocketAddr)> {
        self.0.wait(Call::new(name, Direction::Read, limit), accept_from)
    }

    /// Ends listening, on every handle of the socket: waiting [`accept`](Self::accept) calls return an error of kind
    /// `NotConnected` at once, new clients are refused, and connections that were not accepted are reset.
    ///
    /// ```
    /// # use gossamer::net::TcpListener;
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// gossamer::scope(|s| {
    ///     let waiting = s.spawn(|| listener.accept().unwrap_err());
    ///     gossamer::yield_now();
    ///     listener.close().expect("it listens");
    ///     assert_eq!(waiting.join().kind(), std::io::ErrorKind::NotConnected);
    /// });
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// listener.close()?;
    /// assert!(listener.accept().is_err());
    /// # let _: Option<TcpStream> = None;
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
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// for stream in listener.incoming() {
    ///     println!("{} has come", stream?.peer_addr()?);
    ///     break;
    /// }
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn incoming(&self) -> Incoming<'_> {
        Incoming { listener: self }
    }

    /// Another handle of the same socket: each connection is accepted by one of them.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let other = listener.try_clone()?; // for another fiber
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(other.accept()?.1, client.local_addr()?);
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
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let inherited = std::net::TcpListener::bind("127.0.0.1:0")?; // for example from a service manager
    /// let listener = TcpListener::from_std(inherited)?;
    /// let client = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(listener.accept()?.1, client.local_addr()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If it cannot be made non-blocking.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Self> {
        Self::wrap(listener)
    }

    /// Gives the socket to the standard library, in blocking mode.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let address = listener.local_addr()?;
    /// let listener = listener.into_std()?; // for a library that knows no fibers
    /// assert_eq!(listener.local_addr()?, address);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// If it cannot be made blocking.
    pub fn into_std(self) -> io::Result<std::net::TcpListener> {
        let listener = std::net::TcpListener::from(self.0.into_io());
        listener.set_nonblocking(false)?;
        Ok(listener)
    }
}

fn accept_from(listener: &mio::net::TcpListener) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, peer) = listener.accept().map_err(accept_error)?;
    Ok((TcpStream::of_nonblocking(stream.into()), peer))
}

/// An iterator over connections: what [`TcpListener::incoming`] returns.
#[derive(Debug)]
#[must_use = "iterators do nothing unless consumed"]
pub struct Incoming<'a> {
    listener: &'a TcpListener,
}

impl Iterator for Incoming<'_> {
    type Item = io::Result<TcpStream>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.listener.accept().map(|(stream, _peer)| stream))
    }
}

impl FusedIterator for Incoming<'_> {}

impl<'a> IntoIterator for &'a TcpListener {
    type Item = io::Result<TcpStream>;
    type IntoIter = Incoming<'a>;

    fn into_iter(self) -> Self::IntoIter {
        self.incoming()
    }
}
