//! How connections between peers that know one key are encrypted. No I/O.
//!
//! Noise, pattern `NNpsk0`: a message of 48 bytes each way proves the key and agrees on fresh keys. A first message
//! that was recorded and is replayed gets an answer, but the replayer cannot continue. After that come frames: two
//! bytes of length, then that many encrypted bytes; decrypted, they are one byte that says whether the message ends
//! here, then its bytes.

use crate::secure::key::Key;
use snow::{Builder, HandshakeState, StatelessTransportState};
use std::io::{self, ErrorKind};
use std::sync::Arc;

/// The longest message.
pub const LONGEST: usize = 4 << 20;
/// The bytes of a message of the handshake: a public key and a tag.
pub const HANDSHAKE: usize = 48;
/// The most bytes of a message in one frame.
pub const PIECE: usize = u16::MAX as usize - TAG - 1;

const PATTERN: &str = "Noise_NNpsk0_25519_ChaChaPoly_BLAKE2s";
const PROLOGUE: &[u8] = b"gossamer rack";
/// The tag of an encrypted frame.
const TAG: usize = 16;

/// One side of a handshake.
#[derive(Debug)]
pub struct Handshake(Box<HandshakeState>);

/// Messages become frames.
#[derive(Debug)]
pub struct Sealer {
    state: Arc<StatelessTransportState>,
    nonce: u64,
}

/// Frames become messages.
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

impl Handshake {
    /// The side that connects, and speaks first.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn initiator(key: &Key) -> io::Result<Self> {
        builder(key).and_then(Builder::build_initiator).map(|state| Self(Box::new(state))).map_err(broken)
    }

    /// The side that was connected to.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn responder(key: &Key) -> io::Result<Self> {
        builder(key).and_then(Builder::build_responder).map(|state| Self(Box::new(state))).map_err(broken)
    }

    /// The message of this side.
    ///
    /// # Errors
    /// If it is the other side's turn.
    pub fn write(&mut self) -> io::Result<[u8; HANDSHAKE]> {
        let mut message = [0; HANDSHAKE];
        self.0.write_message(&[], &mut message).map_err(broken)?;
        Ok(message)
    }

    /// Takes the message of the other side.
    ///
    /// # Errors
    /// If the other side does not know the key.
    pub fn read(&mut self, message: &[u8; HANDSHAKE]) -> io::Result<()> {
        self.0.read_message(message, &mut []).map(drop).map_err(|_| broken("it has another key"))
    }

    /// After both messages.
    ///
    /// # Errors
    /// If one of them is missing.
    pub fn finish(self) -> io::Result<(Sealer, Frames)> {
        let state = Arc::new(self.0.into_stateless_transport_mode().map_err(broken)?);
        let sealer = Sealer { state: Arc::clone(&state), nonce: 0 };
        Ok((sealer, Frames { state, nonce: 0, received: Vec::with_capacity(PIECE), message: Vec::new() }))
    }
}

fn builder(key: &Key) -> Result<Builder<'_>, snow::Error> {
    Builder::new(PATTERN.parse()?).prologue(PROLOGUE)?.psk(0, key.bytes())
}

impl Sealer {
    /// The frames of a message.
    ///
    /// # Errors
    /// If the message is too long.
    pub fn seal(&mut self, message: &[u8]) -> io::Result<Vec<u8>> {
        if message.len() > LONGEST {
            let length = message.len();
            return Err(broken(format!("{length} bytes are more than fit into a message ({LONGEST})")));
        }
        let mut frames = Vec::with_capacity(message.len() + 64);
        let pieces = message.len().div_ceil(PIECE).max(1);
        for index in 0..pieces {
            let begin = index * PIECE;
            let piece = message.get(begin..message.len().min(begin + PIECE)).unwrap_or_default();
            let mut plain = Vec::with_capacity(1 + piece.len());
            plain.push(u8::from(index + 1 == pieces));
            plain.extend_from_slice(piece);
            frames.extend_from_slice(&self.seal_frame(&plain)?);
        }
        Ok(frames)
    }

    /// One frame, whatever it contains.
    ///
    /// # Errors
    /// If it is too long.
    pub fn seal_frame(&mut self, plain: &[u8]) -> io::Result<Vec<u8>> {
        let mut frame = vec![0; 2 + plain.len() + TAG];
        let (length, rest) = frame.split_at_mut(2);
        let sealed = self.state.write_message(self.nonce, plain, rest).map_err(broken)?;
        self.nonce += 1;
        length.copy_from_slice(&u16::try_from(sealed).map_err(broken)?.to_be_bytes());
        Ok(frame)
    }
}

impl Frames {
    /// Where received bytes are to be appended.
    pub fn received(&mut self) -> &mut Vec<u8> {
        &mut self.received
    }

    /// Whether no part of a message has arrived.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.received.is_empty() && self.message.is_empty()
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
            let decrypted = self.state.read_message(self.nonce, frame, &mut plain);
            let decrypted = decrypted.map_err(|_| broken("a message was damaged or forged"))?;
            self.nonce += 1;
            self.received.drain(..2 + length);
            let (is_last, piece) = match plain.get(..decrypted).and_then(<[u8]>::split_first) {
                Some((0, piece)) => (false, piece),
                Some((1, piece)) => (true, piece),
                _ => return Err(broken("a frame does not say whether it is the last of its message")),
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
