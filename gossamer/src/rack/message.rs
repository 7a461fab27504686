//! Messages between nodes beside their lanes: a length of 32 bits, then an encoded value.

use crate::transport::socket::Socket;
use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use std::io::{self, Read, Write};

/// Bytes of a message at the most: the names of all operations of a program go in one.
const LARGEST: usize = 64 << 20;

/// # Errors
/// If the connection is lost.
pub(crate) fn send<M: NoRef>(socket: &mut Socket, message: M) -> io::Result<()> {
    let bytes =
        Encoder::encoded(message).map_err(|refused| io::Error::other(refused.into_refusal().to_string()))?;
    let mut frame = Vec::with_capacity(4 + bytes.len());
    frame.extend((bytes.len() as u32).to_le_bytes());
    frame.extend(bytes);
    socket.write_all(&frame)
}

/// # Errors
/// If the connection is lost, nothing comes for too long, or something else comes.
pub(crate) fn receive<M: NoRef>(socket: &mut Socket) -> io::Result<M> {
    let mut length = [0; 4];
    socket.read_exact(&mut length)?;
    receive_rest(socket, length)
}

/// As `receive`, when the length has been read.
///
/// # Errors
/// As `receive`.
pub(crate) fn receive_rest<M: NoRef>(socket: &mut Socket, length: [u8; 4]) -> io::Result<M> {
    let length = u32::from_le_bytes(length) as usize;
    if length > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes")));
    }
    // As much as comes, not as much as is promised.
    let mut bytes = Vec::new();
    socket.take(length as u64).read_to_end(&mut bytes)?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Decoder::decoded(&bytes).map_err(|malformed| io::Error::new(io::ErrorKind::InvalidData, malformed))
}
