//! Messages between nodes outside of lanes: a length, then an encoded value, in records.

use crate::transport::records::{HEAD, RecordReader, RecordWriter, Records};
use crate::transport::socket::Socket;
use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use std::io::{self, Read, Write};
use std::time::Duration;

/// The most bytes of a message: one message carries the names of all operations of a program.
const LARGEST: u64 = 64 << 20;
/// Bytes of the length of a message.
const LENGTH: usize = size_of::<u64>();
/// Bytes of a message in one record.
const PIECE: usize = 256 * 1024;

/// A connection on which two nodes have proved themselves and exchange messages.
pub(crate) struct MessageSocket {
    socket: Socket,
    writer: RecordWriter,
    reader: RecordReader,
}

/// The half of a connection that sends.
pub(crate) struct MessageWriter {
    socket: Socket,
    writer: RecordWriter,
}

/// The half of a connection that receives.
pub(crate) struct MessageReader {
    socket: Socket,
    reader: RecordReader,
}

/// Sends the length of a message and the message, in as many records as needed.
fn send<M: NoRef>(socket: &mut Socket, writer: &mut RecordWriter, message: M) -> io::Result<()> {
    let message =
        Encoder::encoded(message).map_err(|refused| io::Error::other(refused.into_refusal().to_string()))?;
    let text = [&(message.len() as u64).to_le_bytes()[..], &message].concat();
    let mut records = Vec::with_capacity(HEAD + text.len() + writer.trailer());
    for piece in text.chunks(PIECE) {
        let start = records.len();
        records.resize(start + HEAD, 0);
        records.extend_from_slice(piece);
        records.resize(records.len() + writer.trailer(), 0);
        writer.seal(&mut records[start..])?;
    }
    socket.write_all(&records)
}

/// A message of the other end, from its socket or a reader of it.
///
/// # Errors
/// If the connection is lost, nothing comes for too long, or something else comes.
pub(super) fn receive<M: NoRef>(source: &mut impl Read, reader: &mut RecordReader) -> io::Result<M> {
    let malformed = |malformed| io::Error::new(io::ErrorKind::InvalidData, malformed);
    let mut message = Vec::new();
    receive_piece(source, reader, &mut message)?;
    let length = message.first_chunk().map(|length| u64::from_le_bytes(*length));
    let length = length.ok_or_else(|| malformed(Malformed::instead_of::<M>()))?;
    if length > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a message of {length} bytes")));
    }
    // Allocate as data arrives, not as much as is promised.
    while ((message.len() - LENGTH) as u64) < length {
        receive_piece(source, reader, &mut message)?;
    }
    Decoder::decoded(&message[LENGTH..]).map_err(malformed)
}

/// Appends the content of the next record.
fn receive_piece(source: &mut impl Read, reader: &mut RecordReader, to: &mut Vec<u8>) -> io::Result<()> {
    let mut head = [0; HEAD];
    source.read_exact(&mut head)?;
    let length = reader.length(head)?;
    if length > HEAD + PIECE + reader.trailer() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("a record of {length} bytes")));
    }
    let mut record = vec![0; length];
    record[..HEAD].copy_from_slice(&head);
    source.read_exact(&mut record[HEAD..])?;
    to.extend_from_slice(reader.open(&mut record)?);
    Ok(())
}

impl MessageSocket {
    pub(crate) fn new(socket: Socket, (writer, reader): Records) -> Self {
        Self { socket, writer, reader }
    }

    /// # Errors
    /// If the connection is lost.
    pub(crate) fn send<M: NoRef>(&mut self, message: M) -> io::Result<()> {
        send(&mut self.socket, &mut self.writer, message)
    }

    /// # Errors
    /// If the connection is lost, nothing comes for too long, or something else comes.
    pub(crate) fn receive<M: NoRef>(&mut self) -> io::Result<M> {
        receive(&mut self.socket, &mut self.reader)
    }

    /// The time after which a read or a write gives up.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn set_patience(&self, patience: Duration) -> io::Result<()> {
        self.socket.set_patience(patience)
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// The socket, and the reader and writer of records to use from now on.
    pub(crate) fn into_parts(self) -> (Socket, Records) {
        (self.socket, (self.writer, self.reader))
    }

    /// The two halves, for use by different threads.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub(crate) fn split(self) -> io::Result<(MessageReader, MessageWriter)> {
        let writer = MessageWriter { socket: self.socket.try_clone()?, writer: self.writer };
        Ok((MessageReader { socket: self.socket, reader: self.reader }, writer))
    }
}

impl MessageWriter {
    /// # Errors
    /// Like `MessageSocket::send`.
    pub(crate) fn send<M: NoRef>(&mut self, message: M) -> io::Result<()> {
        send(&mut self.socket, &mut self.writer, message)
    }

    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }
}

impl MessageReader {
    /// The socket, and the reader of its records.
    pub(super) fn into_parts(self) -> (Socket, RecordReader) {
        (self.socket, self.reader)
    }
}
