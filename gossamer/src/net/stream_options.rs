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
    /// An error of the system call.
    pub fn set_nodelay(&self, nodelay: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(self, nodelay)?)
    }

    /// The setting of [`set_nodelay`](Self::set_nodelay).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(!stream.nodelay()?); // unless it is set, small writes are gathered
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
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
    /// An error of the system call.
    pub fn set_ttl(&self, ttl: u32) -> io::Result<()> {
        Ok(sockopt::set_ip_ttl(self, ttl)?)
    }

    /// The setting of [`set_ttl`](Self::set_ttl).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(stream.ttl()? > 0); // mostly 64
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn ttl(&self) -> io::Result<u32> {
        Ok(sockopt::ip_ttl(self)?)
    }

    /// Makes the system probe a silent peer now and then, and end the connection if the peer is gone
    /// (`SO_KEEPALIVE`); `None`, the default, switches this off.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpKeepalive, TcpListener, TcpStream};
    /// use std::time::Duration;
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_keepalive(Some(&TcpKeepalive::new().with_time(Duration::from_secs(60)).with_retries(3)))?;
    /// assert!(stream.keepalive()?);
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call, for example because a time is zero.
    pub fn set_keepalive(&self, keepalive: Option<&TcpKeepalive>) -> io::Result<()> {
        match keepalive {
            Some(keepalive) => keepalive.set_on(self),
            None => Ok(sockopt::set_socket_keepalive(self, false)?),
        }
    }

    /// Whether the system probes a silent peer: see [`set_keepalive`](Self::set_keepalive).
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
    /// An error of the system call.
    pub fn keepalive(&self) -> io::Result<bool> {
        Ok(sockopt::socket_keepalive(self)?)
    }

    /// What happens to unacknowledged bytes when the connection is closed (`SO_LINGER`). `None`, the default: the
    /// system goes on sending them. Zero: they are discarded, and the peer sees a reset.
    ///
    /// With any other time, dropping the last handle blocks its whole worker for up to that time.
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
    /// An error of the system call.
    pub fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
        Ok(sockopt::set_socket_linger(self, linger)?)
    }

    /// The setting of [`set_linger`](Self::set_linger).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert_eq!(stream.linger()?, None); // the system sends the rest after the end
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn linger(&self) -> io::Result<Option<Duration>> {
        Ok(sockopt::socket_linger(self)?)
    }

    /// How many unread bytes the system keeps (`SO_RCVBUF`). It doubles the number for its own needs, and stops
    /// choosing the size itself.
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
    /// An error of the system call.
    pub fn set_recv_buffer_size(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_recv_buffer_size(self, bytes)?)
    }

    /// The size of the system's buffer for unread bytes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(stream.recv_buffer_size()? > 0); // it grows with the connection
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn recv_buffer_size(&self) -> io::Result<usize> {
        Ok(sockopt::socket_recv_buffer_size(self)?)
    }

    /// How many unacknowledged bytes the system keeps (`SO_SNDBUF`). It doubles the number for its own needs, and
    /// stops choosing the size itself.
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
    /// An error of the system call.
    pub fn set_send_buffer_size(&self, bytes: usize) -> io::Result<()> {
        Ok(sockopt::set_socket_send_buffer_size(self, bytes)?)
    }

    /// The size of the system's buffer for unacknowledged bytes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// assert!(stream.send_buffer_size()? > 0); // it grows with the connection
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn send_buffer_size(&self) -> io::Result<usize> {
        Ok(sockopt::socket_send_buffer_size(self)?)
    }

    /// Acknowledges received data at once (`TCP_QUICKACK`). The system returns to its default behaviour after a
    /// while.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// use gossamer::net::{TcpListener, TcpStream};
    /// let listener = TcpListener::bind("127.0.0.1:0")?;
    /// let stream = TcpStream::connect(listener.local_addr()?)?;
    /// stream.set_quickack(true)?; // again before each wait: it does not last
    /// assert!(stream.take_error()?.is_none());
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// An error of the system call.
    pub fn set_quickack(&self, quickack: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_quickack(self, quickack)?)
    }

    /// Gathers writes until this is switched off again, or for 200 ms (`TCP_CORK`): for example to send a header
    /// together with a file.
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
    /// An error of the system call.
    pub fn set_cork(&self, cork: bool) -> io::Result<()> {
        Ok(sockopt::set_tcp_cork(self, cork)?)
    }

    /// How long what was sent may remain unacknowledged before the connection is lost (`TCP_USER_TIMEOUT`), in whole milliseconds;
    /// `None`, the default, means that of the system, about a quarter of an hour.
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
    /// An error of the system call, and `InvalidInput` if it takes more than 49 days.
    pub fn set_user_timeout(&self, limit: Option<Duration>) -> io::Result<()> {
        let too_long = |_| io::Error::new(io::ErrorKind::InvalidInput, "a user timeout of more than 49 days");
        let milliseconds = limit.map_or(0, |limit| limit.as_millis()).try_into().map_err(too_long)?;
        Ok(sockopt::set_tcp_user_timeout(self, milliseconds)?)
    }
}
