//! [`TcpListenerBuilder`]: the settings of a listener, before it is bound.

use crate::net::address::{first_of, resolve};
use crate::net::fiber_socket::check_may_wait;
use crate::net::{TcpKeepalive, TcpListener, ToSocketAddrs};
use crate::sys::process::socket_options;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Connections that wait to be accepted, unless the program says otherwise. The kernel takes no more than `net.core.somaxconn`, whose
/// default is this.
const BACKLOG: u32 = 4096;

/// The settings of a listener to be bound: what [`TcpListener::builder`] returns.
///
/// Defaults are those of [`TcpListener::bind`]. Settings of connections apply to those that are accepted.
///
/// ```
/// use gossamer::net::{TcpListener, TcpStream};
///
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// // Two listeners of one port: the kernel gives each connection to one of them.
/// let one = TcpListener::builder().reuse_port(true).backlog(1024).bind("127.0.0.1:0")?;
/// let other = TcpListener::builder().reuse_port(true).bind(one.local_addr()?)?;
/// assert_eq!(one.local_addr()?, other.local_addr()?);
/// # Ok(())
/// # }).unwrap();
/// ```
#[doc(alias = "TcpSocket")]
#[derive(Clone, Debug)]
#[must_use = "nothing listens before `bind`"]
pub struct TcpListenerBuilder {
    backlog: u32,
    reuse_address: bool,
    reuse_port: bool,
    only_v6: Option<bool>,
    fast_open: Option<u32>,
    nodelay: bool,
    keepalive: Option<TcpKeepalive>,
    linger: Option<Duration>,
    receive_buffer: Option<usize>,
    send_buffer: Option<usize>,
}

impl TcpListenerBuilder {
    pub(crate) fn new() -> Self {
        Self {
            backlog: BACKLOG,
            reuse_address: true,
            reuse_port: false,
            only_v6: None,
            fast_open: None,
            nodelay: false,
            keepalive: None,
            linger: None,
            receive_buffer: None,
            send_buffer: None,
        }
    }

    /// How many connections may wait to be accepted: 4,096 unless it is set. The kernel takes no more than `net.core.somaxconn`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let listener = TcpListener::builder().backlog(16).bind("127.0.0.1:0")?;
    /// # drop(listener);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn backlog(self, backlog: u32) -> Self {
        Self { backlog, ..self }
    }

    /// Whether the port may be taken while connections of an earlier listener are still closing (`SO_REUSEADDR`): by
    /// default yes, as in `std`.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let listener = TcpListener::builder().reuse_address(false).bind("127.0.0.1:0")?;
    /// assert_ne!(listener.local_addr()?.port(), 0); // of no earlier listener
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn reuse_address(self, reuse: bool) -> Self {
        Self { reuse_address: reuse, ..self }
    }

    /// Whether several listeners, in processes of one user, may share the port; all of them have to set this
    /// (`SO_REUSEPORT`). The kernel spreads connections over them, so each worker can have a listener of its own.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let one = TcpListener::builder().reuse_port(true).bind("127.0.0.1:0")?;
    /// let other = TcpListener::builder().reuse_port(true).bind(one.local_addr()?)?; // the kernel picks one for each connection
    /// # drop(other);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn reuse_port(self, reuse: bool) -> Self {
        Self { reuse_port: reuse, ..self }
    }

    /// Whether an IPv6 listener leaves IPv4 to others (`IPV6_V6ONLY`); otherwise `[::]` takes connections of both,
    /// unless `net.ipv6.bindv6only` says otherwise. It has no effect on an IPv4 listener.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let Ok(six) = TcpListener::builder().only_v6(true).bind("[::]:0") else { return Ok(()) }; // no IPv6 here
    /// let four = TcpListener::bind(("0.0.0.0", six.local_addr()?.port()))?; // the same port
    /// assert!(four.local_addr()?.is_ipv4());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn only_v6(self, only: bool) -> Self {
        Self { only_v6: Some(only), ..self }
    }

    /// Accepts data with the first packet of a connection from clients that have connected before (`TCP_FASTOPEN`),
    /// for at most `pending` connections that are still being made. Such data can arrive twice, so use it only for
    /// requests that may be repeated. `net.ipv4.tcp_fastopen` has to allow it (2).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let listener = TcpListener::builder().fast_open(128).bind("127.0.0.1:0")?;
    /// assert!(listener.take_error()?.is_none()); // clients save a round trip, if the system allows it
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn fast_open(self, pending: u32) -> Self {
        Self { fast_open: Some(pending), ..self }
    }

    /// Whether small writes to connections are sent at once: see [`TcpStream::set_nodelay`](crate::net::TcpStream::set_nodelay).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let listener = TcpListener::builder().nodelay(true).bind("127.0.0.1:0")?; // of each connection that it accepts
    /// # drop(listener);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn nodelay(self, nodelay: bool) -> Self {
        Self { nodelay, ..self }
    }

    /// Probes silent peers of connections: see [`TcpStream::set_keepalive`](crate::net::TcpStream::set_keepalive).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpKeepalive, TcpListener, TcpStream};
    /// use std::time::Duration;
    /// let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(60));
    /// let listener = TcpListener::builder().keepalive(keepalive).bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(listener.accept()?.0.keepalive()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn keepalive(self, keepalive: TcpKeepalive) -> Self {
        Self { keepalive: Some(keepalive), ..self }
    }

    /// What happens to unsent bytes when a connection is closed: see
    /// [`TcpStream::set_linger`](crate::net::TcpStream::set_linger).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// use std::time::Duration;
    /// let listener = TcpListener::builder().linger(Duration::ZERO).bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(listener.accept()?.0.linger()?, Some(Duration::ZERO)); // dropping it resets it
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn linger(self, linger: Duration) -> Self {
        Self { linger: Some(linger), ..self }
    }

    /// How many unread bytes the system keeps for a connection; here it also bounds the initial window that peers are
    /// offered (see [`TcpStream::set_recv_buffer_size`](crate::net::TcpStream::set_recv_buffer_size)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::builder().recv_buffer_size(64 * 1024).bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(listener.accept()?.0.recv_buffer_size()? >= 64 * 1024); // the kernel doubles it
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn recv_buffer_size(self, bytes: usize) -> Self {
        Self { receive_buffer: Some(bytes), ..self }
    }

    /// How many unacknowledged bytes the system keeps for a connection: see
    /// [`TcpStream::set_send_buffer_size`](crate::net::TcpStream::set_send_buffer_size).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::builder().send_buffer_size(64 * 1024).bind("127.0.0.1:0")?;
    /// let _client = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(listener.accept()?.0.send_buffer_size()? >= 64 * 1024); // the kernel doubles it
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    pub fn send_buffer_size(self, bytes: usize) -> Self {
        Self { send_buffer: Some(bytes), ..self }
    }

    /// Binds a socket with these settings to an address, the first of several that works, and listens.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::TcpListener;
    /// let listener = TcpListener::builder().bind("127.0.0.1:0")?;
    /// assert_ne!(listener.local_addr()?.port(), 0);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`TcpListener::bind`], and if the system refuses a setting.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn bind<A: ToSocketAddrs>(&self, address: A) -> io::Result<TcpListener> {
        check_may_wait("TcpListenerBuilder::bind");
        let addresses = resolve(address, "TcpListenerBuilder::bind")?;
        first_of(&addresses, |address| self.bind_to(address))
    }

    pub(super) fn bind_to(&self, address: SocketAddr) -> io::Result<TcpListener> {
        let socket = self.bound(address)?;
        rustix::net::listen(&socket, self.backlog.try_into().unwrap_or(i32::MAX))?;
        TcpListener::wrap(socket)
    }

    /// A socket that is bound to the address, and does not listen yet.
    ///
    /// # Errors
    /// Like `bind`.
    pub(crate) fn bound(&self, address: SocketAddr) -> io::Result<std::net::TcpListener> {
        let family = if address.is_ipv6() { AddressFamily::INET6 } else { AddressFamily::INET };
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(family, SocketType::STREAM, flags, None)?;
        self.set_on(&socket, address)?;
        rustix::net::bind(&socket, &address)?;
        Ok(socket.into())
    }

    fn set_on(&self, socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
        sockopt::set_socket_reuseaddr(socket, self.reuse_address)?;
        sockopt::set_socket_reuseport(socket, self.reuse_port)?;
        if let Some(only) = self.only_v6.filter(|_| address.is_ipv6()) {
            sockopt::set_ipv6_v6only(socket, only)?;
        }
        if let Some(pending) = self.fast_open {
            socket_options::set_fast_open(socket, pending)?;
        }
        self.set_for_connections(socket)
    }

    /// The options that connections inherit from their listener.
    fn set_for_connections(&self, socket: &OwnedFd) -> io::Result<()> {
        if self.nodelay {
            sockopt::set_tcp_nodelay(socket, true)?;
        }
        if let Some(keepalive) = &self.keepalive {
            keepalive.set_on(socket)?;
        }
        if self.linger.is_some() {
            sockopt::set_socket_linger(socket, self.linger)?;
        }
        if let Some(bytes) = self.receive_buffer {
            sockopt::set_socket_recv_buffer_size(socket, bytes)?;
        }
        if let Some(bytes) = self.send_buffer {
            sockopt::set_socket_send_buffer_size(socket, bytes)?;
        }
        Ok(())
    }
}
