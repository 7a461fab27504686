//! [`TcpKeepalive`]: how a silent connection is probed.

use rustix::net::sockopt;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

/// When a silent connection is probed to learn whether its peer is still there: what `set_keepalive` of
/// [`TcpStream`](crate::net::TcpStream::set_keepalive) and of
/// [`TcpListenerBuilder`](crate::net::TcpListenerBuilder::keepalive) take. Defaults are those of the system: two
/// hours, then nine probes, 75 seconds apart.
///
/// ```
/// use gossamer::net::{TcpKeepalive, TcpListener};
/// use std::time::Duration;
///
/// // A peer that is gone is noticed after a minute and a half.
/// let keepalive = TcpKeepalive::new()
///     .with_time(Duration::from_secs(60))
///     .with_interval(Duration::from_secs(10))
///     .with_retries(3);
/// let listener = TcpListener::builder().keepalive(keepalive).bind("127.0.0.1:0")?;
/// # drop(listener);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpKeepalive {
    time: Option<Duration>,
    interval: Option<Duration>,
    retries: Option<u32>,
}

impl TcpKeepalive {
    /// The defaults of the system.
    ///
    /// ```
    /// use gossamer::net::TcpKeepalive;
    /// let keepalive = TcpKeepalive::new(); // two hours, then nine probes
    /// assert_eq!(keepalive, TcpKeepalive::default());
    /// ```
    pub const fn new() -> Self {
        Self { time: None, interval: None, retries: None }
    }

    /// Silence before the first probe, in whole seconds (`TCP_KEEPIDLE`).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpKeepalive, TcpListener, TcpStream};
    /// use std::time::Duration;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_keepalive(Some(&TcpKeepalive::new().with_time(Duration::from_secs(60))))?; // silent for a minute
    /// assert!(stream.keepalive()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub const fn with_time(self, time: Duration) -> Self {
        Self { time: Some(time), ..self }
    }

    /// Time between two probes, in whole seconds (`TCP_KEEPINTVL`).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpKeepalive, TcpListener, TcpStream};
    /// use std::time::Duration;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_keepalive(Some(&TcpKeepalive::new().with_interval(Duration::from_secs(10))))?; // nine probes: a minute and a half
    /// assert!(stream.keepalive()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub const fn with_interval(self, interval: Duration) -> Self {
        Self { interval: Some(interval), ..self }
    }

    /// Probes without an answer after which the connection is lost (`TCP_KEEPCNT`).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpKeepalive, TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_keepalive(Some(&TcpKeepalive::new().with_retries(3)))?; // lost after three
    /// assert!(stream.keepalive()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub const fn with_retries(self, retries: u32) -> Self {
        Self { retries: Some(retries), ..self }
    }

    /// # Errors
    /// An error of the system call, for example because a time is zero.
    pub(crate) fn set_on(&self, socket: impl AsFd) -> io::Result<()> {
        sockopt::set_socket_keepalive(&socket, true)?;
        if let Some(time) = self.time {
            sockopt::set_tcp_keepidle(&socket, time)?;
        }
        if let Some(interval) = self.interval {
            sockopt::set_tcp_keepintvl(&socket, interval)?;
        }
        if let Some(retries) = self.retries {
            sockopt::set_tcp_keepcnt(&socket, retries)?;
        }
        Ok(())
    }
}
