//! Encrypted connections.

use crate::secure::key::Key;
use crate::secure::noise::{Frames, HANDSHAKE, Handshake, Sealer};
use std::io::{self, ErrorKind};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// How long a handshake may take, with the first message and its answer, for the side that connects.
pub const PATIENCE: Duration = Duration::from_secs(5);
/// The same, and the first request, for the side that was connected to: if that were no longer, it could give up on a
/// peer that was just in time.
pub const PEER_PATIENCE: Duration = Duration::from_secs(10);

/// What comes from the network.
#[derive(Debug)]
pub struct Reader {
    socket: OwnedReadHalf,
    frames: Frames,
}

/// What goes to the network.
#[derive(Debug)]
pub struct Writer {
    socket: OwnedWriteHalf,
    sealer: Sealer,
}

/// The side that connects.
///
/// # Errors
/// Of the connection; or if the other side does not know the key.
pub async fn initiate(mut stream: TcpStream, key: &Key) -> io::Result<(Reader, Writer)> {
    let mut handshake = Handshake::initiator(key)?;
    stream.write_all(&handshake.write()?).await?;
    read_handshake(&mut handshake, &mut stream).await?;
    split(handshake, stream)
}

/// The side that was connected to. Only a message from the other side proves that it knows the key; `is_new` says
/// whether its first message is not a replay of another peer's.
///
/// # Errors
/// Of the connection; or if the other side does not know the key.
pub async fn respond(
    mut stream: TcpStream,
    key: &Key,
    is_new: impl FnOnce(&[u8; HANDSHAKE]) -> bool,
) -> io::Result<(Reader, Writer)> {
    let mut handshake = Handshake::responder(key)?;
    let message = read_handshake(&mut handshake, &mut stream).await?;
    if !is_new(&message) {
        return Err(io::Error::new(ErrorKind::InvalidData, "it repeats what another peer has said"));
    }
    stream.write_all(&handshake.write()?).await?;
    split(handshake, stream)
}

async fn read_handshake(handshake: &mut Handshake, stream: &mut TcpStream) -> io::Result<[u8; HANDSHAKE]> {
    let mut message = [0; HANDSHAKE];
    stream.read_exact(&mut message).await?;
    handshake.read(&message)?;
    Ok(message)
}

fn split(handshake: Handshake, stream: TcpStream) -> io::Result<(Reader, Writer)> {
    // Small messages must not wait for each other.
    stream.set_nodelay(true)?;
    let (sealer, frames) = handshake.finish()?;
    let (from, to) = stream.into_split();
    Ok((Reader { socket: from, frames }, Writer { socket: to, sealer }))
}

/// The same connection for threads, whose calls wait: its socket, its cipher, and what has arrived.
///
/// # Errors
/// If the system refuses.
pub fn into_blocking(reader: Reader, writer: Writer) -> io::Result<(std::net::TcpStream, Sealer, Frames)> {
    let socket = reader.socket.reunite(writer.socket).map_err(io::Error::other)?.into_std()?;
    socket.set_nonblocking(false)?;
    Ok((socket, writer.sealer, reader.frames))
}

impl Reader {
    /// The next message, or nothing if the other side has closed the connection. Nothing is lost if this is cancelled.
    ///
    /// # Errors
    /// Of the connection, and if it ends within a message, or the bytes are not from the other side.
    pub async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(message) = self.frames.take()? {
                return Ok(Some(message));
            }
            if self.socket.read_buf(self.frames.received()).await? == 0 {
                return if self.frames.is_empty() { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
        }
    }
}

impl Writer {
    /// Sends a message. If this is cancelled, the connection can no longer be used.
    ///
    /// # Errors
    /// Of the connection, and if the message is too long.
    pub async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let frames = self.sealer.seal(message)?;
        self.socket.write_all(&frames).await
    }
}
