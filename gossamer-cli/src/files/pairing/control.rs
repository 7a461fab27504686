//! The control connection: encrypted, between a sender and a receiver that know the same code or key.

use crate::rack::silence::within;
use crate::secure::channel::{self, PATIENCE, Reader, Writer};
use crate::secure::codec::{decode, encode};
use crate::secure::key::Key;
use crate::secure::knock::{KnockError, knock};
use crate::secure::noise::{Frames, Sealer};
use rustix::net::sockopt;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Seconds between questions to a silent machine whether it is there, and how many may go unanswered.
const ASKED: Duration = Duration::from_secs(5);
const UNANSWERED: u32 = 6;

/// A control connection, over which each side says messages of its own type.
#[derive(Debug)]
pub struct ControlConnection {
    /// To the other side.
    pub sender: ControlSender,
    /// From it.
    pub receiver: ControlReceiver,
}

/// What this side says.
#[derive(Debug)]
pub struct ControlSender {
    socket: TcpStream,
    sealer: Sealer,
}

/// What the other side says.
#[derive(Debug)]
pub struct ControlReceiver {
    socket: TcpStream,
    frames: Frames,
}

impl ControlConnection {
    /// Connects to the listener at an address. `first` is the first message; its answer is returned with the
    /// connection.
    ///
    /// # Errors
    /// If nobody is there, or has another key.
    pub fn connect<T: DeserializeOwned>(
        address: &str,
        key: &Key,
        first: &impl Serialize,
    ) -> Result<(Self, T), KnockError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.map_err(KnockError::Connect)?.block_on(async {
            let knocking = knock(|| initiate(address, key, first));
            let (reader, writer, answer) =
                within(PATIENCE, knocking).await.ok_or_else(|| KnockError::Connect(no_answer()))??;
            let control = Self::new(reader, writer).map_err(KnockError::Connect)?;
            Ok((control, decode(&answer).map_err(KnockError::Handshake)?))
        })
    }

    /// Takes over a connection whose other side has proved that it knows the key.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn new(reader: Reader, writer: Writer) -> io::Result<Self> {
        let (socket, sealer, frames) = channel::into_blocking(reader, writer)?;
        sockopt::set_socket_keepalive(&socket, true)?;
        sockopt::set_tcp_keepidle(&socket, ASKED)?;
        sockopt::set_tcp_keepintvl(&socket, ASKED)?;
        sockopt::set_tcp_keepcnt(&socket, UNANSWERED)?;
        sockopt::set_tcp_user_timeout(&socket, UNANSWERED * ASKED.as_millis() as u32)?;
        let receiver = ControlReceiver { socket: socket.try_clone()?, frames };
        Ok(Self { sender: ControlSender { socket, sealer }, receiver })
    }

    /// Where the other side is.
    ///
    /// # Errors
    /// If it is gone.
    pub fn peer(&self) -> io::Result<SocketAddr> {
        self.sender.socket.peer_addr()
    }
}

impl ControlSender {
    /// Sends a message.
    ///
    /// # Errors
    /// If the other side is gone.
    pub fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let frames = self.sealer.seal(&encode(message)?)?;
        self.socket.write_all(&frames)
    }
}

impl ControlReceiver {
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
}

fn no_answer() -> io::Error {
    io::Error::new(ErrorKind::TimedOut, format!("no answer in {} s", PATIENCE.as_secs()))
}

async fn initiate(
    address: &str,
    key: &Key,
    first: &impl Serialize,
) -> Result<(Reader, Writer, Vec<u8>), KnockError> {
    let stream = tokio::net::TcpStream::connect(address).await.map_err(KnockError::Connect)?;
    let exchange = async {
        let (mut reader, mut writer) = channel::initiate(stream, key).await?;
        writer.send(&encode(first)?).await?;
        let answer = reader.receive().await?.ok_or(ErrorKind::UnexpectedEof)?;
        Ok((reader, writer, answer))
    };
    exchange.await.map_err(KnockError::Handshake)
}
