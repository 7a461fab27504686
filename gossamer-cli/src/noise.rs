//! Encrypted connections between those who know the rack's key.
//!
//! Noise, pattern `NNpsk0`: two messages of 48 bytes each way prove the key and agree on fresh keys; a first message that
//! was recorded and is sent again gets an answer, but whoever sends it cannot go on. After that, frames: two bytes of
//! length, then so many encrypted bytes; decrypted, one byte that says whether the message ends here, then its bytes.

use crate::key::Key;
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

/// The longest message.
pub const LONGEST: usize = 4 << 20;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"gossamer rack";
/// A message of the handshake: a public key and a tag.
const HANDSHAKE: usize = 48;
/// The tag of an encrypted frame.
const TAG: usize = 16;
/// The most bytes of a message in one frame.
const PIECE: usize = u16::MAX as usize - TAG - 1;

/// What comes from the network.
#[derive(Debug)]
pub struct Reader {
    half: OwnedReadHalf,
    frames: Frames,
}

/// What goes to the network.
#[derive(Debug)]
pub struct Writer {
    half: OwnedWriteHalf,
    state: Arc<StatelessTransportState>,
    nonce: u64,
}

/// Frames become messages. No I/O.
#[derive(Debug)]
pub struct Frames {
    state: Arc<StatelessTransportState>,
    nonce: u64,
    received: Vec<u8>,
    message: Vec<u8>,
}

fn broken(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_string())
}

fn builder(key: &Key) -> Result<Builder<'_>, snow::Error> {
    Builder::new(PATTERN.parse()?).prologue(PROLOGUE)?.psk(0, key.bytes())
}

/// The side that connects.
///
/// # Errors
/// Of the connection, and if the other side does not know the key.
pub async fn initiate(mut stream: TcpStream, key: &Key) -> io::Result<(Reader, Writer)> {
    let mut state = builder(key).and_then(Builder::build_initiator).map_err(broken)?;
    send_handshake(&mut state, &mut stream).await?;
    receive_handshake(&mut state, &mut stream).await?;
    halves(state, stream)
}

/// The side that was connected to. The other side has proved that it knows the key only once a message came from it.
///
/// # Errors
/// Of the connection, and if the other side does not know the key.
pub async fn respond(mut stream: TcpStream, key: &Key) -> io::Result<(Reader, Writer)> {
    let mut state = builder(key).and_then(Builder::build_responder).map_err(broken)?;
    receive_handshake(&mut state, &mut stream).await?;
    send_handshake(&mut state, &mut stream).await?;
    halves(state, stream)
}

async fn send_handshake(state: &mut HandshakeState, stream: &mut TcpStream) -> io::Result<()> {
    let mut message = [0; HANDSHAKE];
    let length = state.write_message(&[], &mut message).map_err(broken)?;
    stream.write_all(message.get(..length).unwrap_or_default()).await
}

async fn receive_handshake(state: &mut HandshakeState, stream: &mut TcpStream) -> io::Result<()> {
    let mut message = [0; HANDSHAKE];
    stream.read_exact(&mut message).await?;
    state.read_message(&message, &mut []).map(drop).map_err(|_| broken("it does not know the rack's key"))
}

fn halves(state: HandshakeState, stream: TcpStream) -> io::Result<(Reader, Writer)> {
    // Small messages must not wait for each other.
    stream.set_nodelay(true)?;
    let state = Arc::new(state.into_stateless_transport_mode().map_err(broken)?);
    let (from, to) = stream.into_split();
    let frames = Frames::new(Arc::clone(&state));
    Ok((Reader { half: from, frames }, Writer { half: to, state, nonce: 0 }))
}

impl Frames {
    fn new(state: Arc<StatelessTransportState>) -> Self {
        Self { state, nonce: 0, received: Vec::with_capacity(PIECE), message: Vec::new() }
    }

    /// The next message, if it is complete.
    ///
    /// # Errors
    /// If a frame was forged or damaged, or a message is too long. Nothing can follow then.
    pub fn take(&mut self) -> io::Result<Option<Vec<u8>>> {
        while let Some((length, rest)) = self.received.split_first_chunk() {
            let length = usize::from(u16::from_be_bytes(*length));
            let Some(frame) = rest.get(..length) else { return Ok(None) };
            let mut plain = vec![0; length];
            let decrypted = self.state.read_message(self.nonce, frame, &mut plain).map_err(broken)?;
            self.nonce += 1;
            self.received.drain(..2 + length);
            let (is_last, piece) = match plain.get(..decrypted).and_then(<[u8]>::split_first) {
                Some((0, piece)) => (false, piece),
                Some((1, piece)) => (true, piece),
                _ => return Err(broken("a frame is neither the last of its message nor not the last")),
            };
            if self.message.len() + piece.len() > LONGEST {
                return Err(broken("a message is too long"));
            }
            self.message.extend_from_slice(piece);
            if is_last {
                return Ok(Some(std::mem::take(&mut self.message)));
            }
        }
        Ok(None)
    }
}

impl Reader {
    /// The next message, or nothing if the other side has closed the connection. Nothing is lost if this is cancelled.
    ///
    /// # Errors
    /// Of the connection, and if it ends within a message, or what comes is not of the other side.
    pub async fn receive(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(message) = self.frames.take()? {
                return Ok(Some(message));
            }
            if self.half.read_buf(&mut self.frames.received).await? == 0 {
                let whole = self.frames.received.is_empty() && self.frames.message.is_empty();
                return if whole { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
        }
    }
}

impl Writer {
    /// Sends a message. If this is cancelled, the connection is of no use any more.
    ///
    /// # Errors
    /// Of the connection, and if the message is too long.
    pub async fn send(&mut self, message: &[u8]) -> io::Result<()> {
        if message.len() > LONGEST {
            return Err(broken(format!(
                "{} bytes are more than fit into a message ({LONGEST})",
                message.len()
            )));
        }
        let mut frames = Vec::with_capacity(message.len() + 64);
        let pieces = message.len().div_ceil(PIECE).max(1);
        for index in 0..pieces {
            let begin = index * PIECE;
            let piece = message.get(begin..message.len().min(begin + PIECE)).unwrap_or_default();
            let mut plain = Vec::with_capacity(1 + piece.len());
            plain.push(u8::from(index + 1 == pieces));
            plain.extend_from_slice(piece);
            let mut frame = vec![0; plain.len() + TAG];
            let length = self.state.write_message(self.nonce, &plain, &mut frame).map_err(broken)?;
            self.nonce += 1;
            frames.extend_from_slice(&u16::try_from(length).map_err(broken)?.to_be_bytes());
            frames.extend_from_slice(frame.get(..length).unwrap_or_default());
        }
        self.half.write_all(&frames).await
    }
}
