//! The control connection: encrypted, between a sender and a receiver that know the same code or key.

use crate::secure::codec::{decode, encode};
use crate::secure::key::Key;
use crate::secure::noise::{Frames, HANDSHAKE, Handshake, Sealer};
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

/// A control connection.
#[derive(Debug)]
pub struct ControlConnection {
    socket: TcpStream,
    sealer: Sealer,
    frames: Frames,
}

/// Why a connection was not made.
#[derive(Debug)]
pub enum ControlError {
    /// Nobody is there.
    Connect(io::Error),
    /// Whoever is there does not know the key, or is something else.
    Handshake(io::Error),
}

impl ControlConnection {
    /// To who listens at an address: `first` is the first message.
    ///
    /// # Errors
    /// If nobody is there, or has another key.
    pub fn connect(address: &str, key: &Key, first: &impl Serialize) -> Result<Self, ControlError> {
        let addresses = address.to_socket_addrs().map_err(ControlError::Connect)?;
        let mut last = io::Error::new(ErrorKind::NotFound, "the name has no address");
        for address in addresses {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(socket) => return Self::initiate(socket, key, first).map_err(ControlError::Handshake),
                Err(error) => last = error,
            }
        }
        Err(ControlError::Connect(last))
    }

    fn initiate(mut socket: TcpStream, key: &Key, first: &impl Serialize) -> io::Result<Self> {
        let mut handshake = Handshake::initiator(key)?;
        socket.write_all(&handshake.write()?)?;
        read_handshake(&mut handshake, &mut socket)?;
        let mut control = Self::new(socket, handshake)?;
        control.send(first)?;
        Ok(control)
    }

    /// From who connects. Only its first message proves that it knows the key.
    ///
    /// # Errors
    /// `PermissionDenied` if it has another key, others if it is something else.
    pub fn accept<T: DeserializeOwned>(mut socket: TcpStream, key: &Key) -> io::Result<(Self, T)> {
        let mut handshake = Handshake::responder(key)?;
        read_handshake(&mut handshake, &mut socket)?;
        socket.write_all(&handshake.write()?)?;
        let mut control = Self::new(socket, handshake)?;
        control.socket.set_read_timeout(Some(PATIENCE))?;
        let first = control.receive()?;
        control.socket.set_read_timeout(None)?;
        Ok((control, first))
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

/// Reads the other side's message of the handshake, however few bytes come at a time.
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
