//! The link: an encrypted connection between a sender and a receiver that know the same code or key.

use crate::key::Key;
use crate::noise::{Frames, HANDSHAKE, Handshake, Sealer};
use crate::protocol::{decode, encode};
use rustix::net::sockopt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long the other side may take to prove that it knows the key.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often a silent machine is asked whether it is there, in seconds, and how many questions may be lost.
const ASKED: Duration = Duration::from_secs(5);
const UNANSWERED: u32 = 6;

/// A link.
#[derive(Debug)]
pub struct Link {
    socket: TcpStream,
    sealer: Sealer,
    frames: Frames,
}

/// Why a link was not made.
#[derive(Debug)]
pub enum Trouble {
    /// Nobody is there.
    Connect(io::Error),
    /// Whoever is there does not know the key, or is something else.
    Stranger(io::Error),
}

impl Link {
    /// To who listens at an address: `hello` is the first message.
    ///
    /// # Errors
    /// If nobody is there, or has another key.
    pub fn connect(address: &str, key: &Key, hello: &impl Serialize) -> Result<Self, Trouble> {
        let addresses = address.to_socket_addrs().map_err(Trouble::Connect)?;
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(socket) => return Self::initiate(socket, key, hello).map_err(Trouble::Stranger),
                Err(error) => last = error,
            }
        }
        Err(Trouble::Connect(last))
    }

    fn initiate(mut socket: TcpStream, key: &Key, hello: &impl Serialize) -> io::Result<Self> {
        let mut handshake = Handshake::initiator(key)?;
        socket.write_all(&handshake.write()?)?;
        read_handshake(&mut handshake, &mut socket)?;
        let mut link = Self::new(socket, handshake)?;
        link.send(hello)?;
        Ok(link)
    }

    /// From who connects. Only its first message proves that it knows the key.
    ///
    /// # Errors
    /// `PermissionDenied` if it has another key, others if it is something else.
    pub fn accept<T: DeserializeOwned>(mut socket: TcpStream, key: &Key) -> io::Result<(Self, T)> {
        let mut handshake = Handshake::responder(key)?;
        read_handshake(&mut handshake, &mut socket)?;
        socket.write_all(&handshake.write()?)?;
        let mut link = Self::new(socket, handshake)?;
        link.socket.set_read_timeout(Some(PATIENCE))?;
        let hello = link.receive()?;
        link.socket.set_read_timeout(None)?;
        Ok((link, hello))
    }

    fn new(socket: TcpStream, handshake: Handshake) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        socket.set_read_timeout(None)?;
        sockopt::set_socket_keepalive(&socket, true)?;
        sockopt::set_tcp_keepidle(&socket, ASKED)?;
        sockopt::set_tcp_keepintvl(&socket, ASKED)?;
        sockopt::set_tcp_keepcnt(&socket, UNANSWERED)?;
        sockopt::set_tcp_user_timeout(&socket, UNANSWERED * ASKED.as_millis() as u32)?;
        let (sealer, frames) = handshake.finish()?;
        Ok(Self { socket, sealer, frames })
    }

    /// Sends a message.
    ///
    /// # Errors
    /// If the other side is gone.
    pub fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let frames = self.sealer.seal(&encode(message)?)?;
        self.socket.write_all(&frames)
    }

    /// Waits for a message.
    ///
    /// # Errors
    /// If the other side is gone, or says something else.
    pub fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let mut buffer = [0; 16 << 10];
        loop {
            if let Some(message) = self.frames.take()? {
                return decode(&message);
            }
            match self.socket.read(&mut buffer) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.frames.received().extend_from_slice(buffer.get(..count).unwrap_or_default())
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Where the other side is.
    ///
    /// # Errors
    /// If it is gone.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.socket.peer_addr()
    }
}

/// Reads the other side's half of the handshake, however few bytes come at a time.
fn read_handshake(handshake: &mut Handshake, socket: &mut TcpStream) -> io::Result<()> {
    let due = Instant::now() + PATIENCE;
    let (mut message, mut filled) = ([0; HANDSHAKE], 0);
    while let Some(rest) = message.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        socket.set_read_timeout(Some(left))?;
        match socket.read(rest) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    handshake.read(&message).map_err(|error| io::Error::new(ErrorKind::PermissionDenied, error))
}
