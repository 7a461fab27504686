//! The options of a [`TcpStream`].

use crate::net::{TcpKeepalive, TcpStream};
use rustix::net::sockopt;
use std::io;
use std::time::Duration;

impl TcpStream {
    /// Whether small writes are sent at once instead of being gathered (`TCP_NODELAY`).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_nodelay(true)?; // small messages go at once
    /// assert!(stream.nodelay()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The system's.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(self, nodelay)?)
    }

    /// What [`set_nodelay`](Self::set_nodelay) has set.
    ///
    /// # Errors
    /// The system's.
    pub fn nodelay(&self) -> io::Result<bool> {
        Ok(sockopt::tcp_nodelay(self)?)
    }

    /// How many routers a packet may pass (`IP_TTL`).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_ttl(8)?;
    /// assert_eq!(stream.ttl()?, 8);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The system's.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        Ok(sockopt::set_ip_ttl(self, ttl)?)
    }

    /// What [`set_ttl`](Self::set_ttl) has set.
    ///
    /// # Errors
    /// The system's.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(sockopt::ip_ttl(self)?)
    }

    /// Has the system ask a silent peer now and then whether it is still there, and end the connection if it is not (`SO_KEEPALIVE`);
    /// `None`, the default, has it not ask.
    ///
    /// # Errors
    /// The system's, for example because a time is zero.
    pub fn set_keepalive(&self, keepalive: Option<&TcpKeepalive>) -> io::Result<()> {
        match keepalive {
            Some(keepalive) => keepalive.set_on(self),
            None => Ok(sockopt::set_socket_keepalive(self, false)?),
        }
    }

    /// Whether the system asks a silent peer: see [`set_keepalive`](Self::set_keepalive).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(!stream.keepalive()?); // off, unless it is asked for
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The system's.
    pub fn keepalive(&self) -> io::Result<bool> {
        Ok(sockopt::socket_keepalive(self)?)
    }

    /// What becomes of bytes that the peer does not have yet when the connection is closed (`SO_LINGER`). `None`, the default: the system
    /// goes on sending them. Zero: they are thrown away, and the peer sees that the connection was reset.
    ///
    /// Any other time has whoever drops the last handle wait for it, with its whole worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_linger(Some(std::time::Duration::from_secs(5)))?;
    /// assert!(stream.linger()?.is_some());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The system's.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        Ok(sockopt::set_socket_linger(self, linger)?)
    }

    /// What [`set_linger`](Self::set_linger) has set.
    ///
    /// # Errors
    /// The system's.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(sockopt::socket_linger(self)?)
    }

    /// How many bytes the system keeps that nobody has read yet (`SO_RCVBUF`). It takes twice as many, for itself, and does not choose the
    /// size by itself any more.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_recv_buffer_size(64 * 1024)?;
    /// assert!(stream.recv_buffer_size()? >= 64 * 1024); // the kernel doubles it
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The system's.
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size(self, bytes)?)
    }

    /// The bytes that the system may take for what nobody has read yet.
    ///
    /// # Errors
    /// The system's.
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        Ok(sockopt::socket_recv_buffer_size(self)?)
    }

    /// How many bytes the system keeps that the peer does not have yet (`SO_SNDBUF`). It takes twice as many, for itself, and does not choose
    /// the size by itself any more.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_send_buffer_size(64 * 1024)?;
    /// assert!(stream.send_buffer_size()? >= 64 * 1024); // the kernel doubles it
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The system's.
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_send_buffer_size(self, bytes)?)
    }

    /// The bytes that the system may take for what the peer does not have yet.
    ///
    /// # Errors
    /// The system's.
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        Ok(sockopt::socket_send_buffer_size(self)?)
    }

    /// Has what comes be acknowledged at once (`TCP_QUICKACK`). The system goes back to its own way after a while.
    ///
    /// # Errors
    /// The system's.
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_quickack(self, quickack)?)
    }

    /// Gathers what is written until this is switched off again, or for 200 ms (`TCP_CORK`): for a head that goes before a file.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_cork(true)?; // a header and a body, as one segment
    /// stream.set_cork(false)?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The system's.
    pub fn set_cork(&self, cork: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_cork(self, cork)?)
    }

    /// How long what was sent may remain unacknowledged before the connection is lost (`TCP_USER_TIMEOUT`), in whole milliseconds;
    /// `None`, the default, for a quarter of an hour or so, as the system has it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_user_timeout(Some(std::time::Duration::from_secs(10)))?;
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The system's, and `InvalidInput` if it takes more than 49 days.
    pub fn set_user_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a user timeout of more than 49 days");
        let milliseconds = limit.map_or(0, |limit| limit.as_millis()).try_into().map_err(too_long)?;
        Ok(sockopt::set_tcp_user_timeout(self, milliseconds)?)
    }
}
