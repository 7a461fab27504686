//! Where a node is, and connections between nodes: Unix sockets on one machine, TCP between machines.

use crate::sys::process::descriptors;
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::fmt;
use std::io::{self, IoSlice, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Where a node listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// A name that exists in memory only (an abstract Unix socket): it leaves nothing behind.
    Unix(String),
    /// `host:port`.
    Tcp(String),
}

impl Address {
    /// The host of a TCP address.
    pub(crate) fn host(&self) -> Option<&str> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp(address) => address.rsplit_once(':').map(|(host, _)| host),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("unix:") {
            let fits = !name.is_empty() && name.len() < 100;
            return fits
                .then(|| Self::Unix(name.to_owned()))
                .ok_or_else(|| format!("`{text}`: after `unix:` comes a name of 1 to 99 bytes"));
        }
        let port = text
            .rsplit_once(':')
            .filter(|(host, _)| !host.is_empty())
            .and_then(|(_, port)| port.parse::<u16>().ok());
        match port {
            Some(_) => Ok(Self::Tcp(text.to_owned())),
            None => Err(format!("`{text}` is neither `host:port` nor `unix:name`")),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(name) => write!(f, "unix:{name}"),
            Self::Tcp(address) => f.write_str(address),
        }
    }
}

/// Waits for connections.
#[derive(Debug)]
pub(crate) enum SocketListener {
    Unix(UnixListener),
    Tcp(TcpListener),
}

impl SocketListener {
    /// # Errors
    /// If the address is taken, or is not one of this machine.
    pub(crate) fn bind(address: &Address) -> io::Result<Self> {
        match address {
            Address::Unix(name) => {
                UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?).map(Self::Unix)
            }
            Address::Tcp(address) => TcpListener::bind(address).map(Self::Tcp),
        }
    }

    /// The listening TCP socket that a launcher has handed over (`GOSSAMER_LISTEN_FD`), if any.
    ///
    /// # Errors
    /// If the variable names no listening TCP socket.
    pub(crate) fn inherited() -> io::Result<Option<Self>> {
        let Ok(text) = std::env::var("GOSSAMER_LISTEN_FD") else { return Ok(None) };
        let listener =
            text.parse().map_err(io::Error::other).and_then(descriptors::inherited).map(TcpListener::from);
        let listener = listener.and_then(|listener| {
            listener.local_addr()?;
            Ok(listener)
        });
        listener.map(|listener| Some(Self::Tcp(listener))).map_err(|error| {
            io::Error::other(format!("GOSSAMER_LISTEN_FD={text:?} is no listening TCP socket: {error}"))
        })
    }

    /// The port of a TCP listener.
    ///
    /// # Errors
    /// If it is not a TCP listener.
    pub(crate) fn port(&self) -> io::Result<u16> {
        self.local_addr().map(|address| address.port())
    }

    /// The address of a TCP listener.
    ///
    /// # Errors
    /// If it is not a TCP listener.
    pub(crate) fn local_addr(&self) -> io::Result<std::net::SocketAddr> {
        match self {
            Self::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
            Self::Tcp(listener) => listener.local_addr(),
        }
    }

    /// The next connection, if one arrives before `due`.
    ///
    /// # Errors
    /// If none does.
    pub(crate) fn accept_until(&self, due: Instant) -> io::Result<Socket> {
        wait_until_readable(self, due)?;
        self.accept()
    }

    /// The next connection.
    ///
    /// # Errors
    /// If the system refuses, or none has arrived and the listener does not wait.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match self {
            Self::Unix(listener) => listener.accept().map(|(socket, _)| Socket::Unix(socket)),
            Self::Tcp(listener) => {
                let (socket, _) = listener.accept()?;
                socket.set_nodelay(true)?;
                Ok(Socket::Tcp(socket))
            }
        }
    }

    /// Makes `accept` return at once.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Unix(listener) => listener.set_nonblocking(true),
            Self::Tcp(listener) => listener.set_nonblocking(true),
        }
    }
}

impl AsFd for SocketListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

pub(crate) fn wait_until_readable(descriptor: impl AsFd, due: Instant) -> io::Result<()> {
    loop {
        let left = due.saturating_duration_since(Instant::now());
        let mut wanted = [rustix::event::PollFd::new(&descriptor, rustix::event::PollFlags::IN)];
        let timeout = left.try_into().map_err(io::Error::other)?;
        match rustix::event::poll(&mut wanted, Some(&timeout)) {
            Ok(0) => return Err(io::ErrorKind::TimedOut.into()),
            Ok(_) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// A connection to another node.
#[derive(Debug)]
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    /// # Errors
    /// If nobody listens there, or no answer comes within `patience`.
    pub(crate) fn connect(address: &Address, patience: Duration) -> io::Result<Self> {
        match address {
            Address::Unix(name) => {
                UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?).map(Self::Unix)
            }
            Address::Tcp(address) => {
                let mut last = io::Error::from(io::ErrorKind::NotFound);
                for address in address.to_socket_addrs()? {
                    match Self::connect_tcp(&address, patience) {
                        Ok(socket) => return Ok(socket),
                        Err(error) => last = error,
                    }
                }
                Err(last)
            }
        }
    }

    /// A connection to one address. A door whose queue is full of strangers drops new connections, and the kernel would
    /// try again only after 1 and 3 s. This tries ten times in the first half of the time, and waits for distant peers
    /// in the second half.
    ///
    /// # Errors
    /// If nobody listens there, or no answer comes within `patience`.
    pub(crate) fn connect_tcp(address: &std::net::SocketAddr, patience: Duration) -> io::Result<Self> {
        const KNOCKS: u32 = 10;
        let once = || TcpStream::connect_timeout(address, patience / 2 / KNOCKS);
        let is_answer = |outcome: &io::Result<TcpStream>| !matches!(outcome, Err(error) if error.kind() == io::ErrorKind::TimedOut);
        let connected = (0..KNOCKS).map(|_| once()).find(is_answer);
        let socket = connected.unwrap_or_else(|| TcpStream::connect_timeout(address, patience / 2))?;
        socket.set_nodelay(true)?;
        Ok(Self::Tcp(socket))
    }

    /// The time after which a read or a write gives up.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        match self {
            Self::Unix(socket) => {
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))
            }
            Self::Tcp(socket) => {
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))
            }
        }
    }

    /// Reads and writes wait for as long as it takes.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn set_no_limit(&self) -> io::Result<()> {
        match self {
            Self::Unix(socket) => {
                socket.set_read_timeout(None)?;
                socket.set_write_timeout(None)
            }
            Self::Tcp(socket) => {
                socket.set_read_timeout(None)?;
                socket.set_write_timeout(None)
            }
        }
    }

    /// Whether the other side has closed the connection, and all that it had sent was read.
    pub(crate) fn is_closed(&self) -> bool {
        let read = rustix::net::recv(self, &mut [0_u8; 1], RecvFlags::PEEK | RecvFlags::DONTWAIT);
        !matches!(read, Ok((1.., _)) | Err(Errno::AGAIN | Errno::INTR))
    }

    /// Ends the connection in these directions, for all handles of it.
    pub(crate) fn shutdown(&self, how: Shutdown) {
        // It fails if the other side has already done so.
        let _closed = match self {
            Self::Unix(socket) => socket.shutdown(how),
            Self::Tcp(socket) => socket.shutdown(how),
        };
    }

    /// The user of the process at the other end of a Unix socket.
    ///
    /// # Errors
    /// If the system does not say.
    pub(crate) fn peer_user(&self) -> io::Result<u32> {
        Ok(rustix::net::sockopt::socket_peercred(self)?.uid.as_raw())
    }

    /// Whether the other end may belong to this application: on one machine, a process of the same user.
    pub(crate) fn is_of_this_user(&self) -> bool {
        let own = rustix::process::geteuid().as_raw();
        matches!(self, Self::Tcp(_)) || self.peer_user().is_ok_and(|user| user == own)
    }

    /// Waits until something arrives.
    ///
    /// # Errors
    /// If nothing does before `due`.
    pub(crate) fn wait_until_readable(&self, due: Instant) -> io::Result<()> {
        wait_until_readable(self.as_fd(), due)
    }

    /// The address of this end, as other machines of its network can name it.
    pub(crate) fn local_host(&self) -> Option<String> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp(socket) => socket.local_addr().ok().map(|address| match address.ip() {
                IpAddr::V4(ip) => ip.to_string(),
                IpAddr::V6(ip) => format!("[{ip}]"),
            }),
        }
    }

    /// Another handle of the same connection.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn try_clone(&self) -> io::Result<Self> {
        match self {
            Self::Unix(socket) => socket.try_clone().map(Self::Unix),
            Self::Tcp(socket) => socket.try_clone().map(Self::Tcp),
        }
    }
}

/// A socket with a patience reports `EAGAIN` once the time is over.
fn in_time<T>(outcome: io::Result<T>) -> io::Result<T> {
    outcome.map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "nothing arrived in time"),
        _ => error,
    })
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(socket) => socket.as_fd(),
            Self::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        in_time(match self {
            Self::Unix(socket) => socket.read(buffer),
            Self::Tcp(socket) => socket.read(buffer),
        })
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        in_time(match self {
            Self::Unix(socket) => socket.write(bytes),
            Self::Tcp(socket) => socket.write(bytes),
        })
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        in_time(match self {
            Self::Unix(socket) => socket.write_vectored(parts),
            Self::Tcp(socket) => socket.write_vectored(parts),
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patience_that_is_over_is_a_time_out() {
        let (one, _other) = UnixStream::pair().unwrap();
        let mut socket = Socket::Unix(one);
        socket.set_patience(Duration::from_millis(10)).unwrap();
        let error = socket.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "nothing arrived in time");
        let full = (0..1000).find_map(|_| socket.write(&[0; 1 << 16]).err());
        assert_eq!(full.map(|error| error.kind()), Some(io::ErrorKind::TimedOut));
    }

    #[test]
    fn addresses_are_read_as_they_are_written() {
        for text in ["unix:gossamer-1", "node-0:7400", "127.0.0.1:1", "[::1]:65535"] {
            assert_eq!(text.parse::<Address>().map(|address| address.to_string()), Ok(text.to_owned()));
        }
        for text in ["", "unix:", "host", "host:", ":80", "host:99999", "host:port"] {
            let error = text.parse::<Address>().err().unwrap_or_default();
            assert!(error.contains(text), "{text}: {error}");
        }
    }
}
