//! What has arrived on a socket: bytes that wait until they are whole records, whose frames are handed over.

use crate::fabric::tcp::frame::{Frame, decode};
use crate::fabric::tcp::outgoing::LONGEST;
use crate::transport::records::RecordReader;
use crate::wire::refusal::Malformed;
use crate::wire::word::bytes_of_mut;
use std::io::{self, ErrorKind, Read};

/// Words of the buffer.
const BUFFER: usize = 32 * 1024;

/// The bytes of a socket that were read and not yet handed over.
pub(super) struct IncomingRecords {
    reader: RecordReader,
    words: Box<[u64]>,
    /// Words that were handed over.
    taken: usize,
    /// Bytes in use, including those of the words that were handed over.
    filled: usize,
}

impl IncomingRecords {
    pub(super) fn new(reader: RecordReader) -> Self {
        const { assert!(LONGEST < BUFFER * size_of::<u64>()) };
        Self { reader, words: vec![0; BUFFER].into(), taken: 0, filled: 0 }
    }

    /// Reads what has arrived, once, and hands over its frames. Returns whether anything had.
    ///
    /// # Errors
    /// If the connection is lost, or something other than the records of the other end arrives: no part of such a
    /// record is handed over.
    #[inline]
    pub(super) fn receive(
        &mut self,
        mut socket: impl Read,
        mut land: impl FnMut(Frame<'_>) -> Result<(), Malformed>,
    ) -> io::Result<bool> {
        let count = match socket.read(&mut bytes_of_mut(&mut self.words)[self.filled..]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(count) => count,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                return Ok(false);
            }
            Err(error) => return Err(error),
        };
        self.filled += count;
        while let Some(words) = self.next_record()? {
            hand_over(words, &mut land)
                .map_err(|malformed| io::Error::new(ErrorKind::InvalidData, malformed))?;
        }
        self.make_room();
        Ok(true)
    }

    /// The frames of the next record, if all of it is there.
    #[inline]
    fn next_record(&mut self) -> io::Result<Option<&[u64]>> {
        let there = &mut self.words[self.taken..self.filled / size_of::<u64>()];
        let Some(head) = there.first() else { return Ok(None) };
        let length = self.reader.length(head.to_ne_bytes())?;
        let is_one = length <= LONGEST && length.is_multiple_of(size_of::<u64>());
        let words = length / size_of::<u64>();
        if !is_one {
            return Err(io::Error::new(ErrorKind::InvalidData, Malformed::instead_of::<Frame<'_>>()));
        }
        let Some(record) = there.get_mut(..words) else { return Ok(None) };
        let body = self.reader.open(bytes_of_mut(record))?.len() / size_of::<u64>();
        self.taken += words;
        Ok(Some(&record[1..][..body]))
    }

    /// Makes room for a whole record behind what is there.
    #[inline]
    fn make_room(&mut self) {
        let taken = self.taken * size_of::<u64>();
        if self.filled == taken {
            (self.taken, self.filled) = (0, 0);
        } else if taken + LONGEST > size_of_val(&self.words[..]) {
            bytes_of_mut(&mut self.words).copy_within(taken..self.filled, 0);
            (self.taken, self.filled) = (0, self.filled - taken);
        }
    }
}

/// Hands over the frames of a record. All of them are whole.
#[inline]
fn hand_over(
    mut words: &[u64],
    land: &mut impl FnMut(Frame<'_>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    while !words.is_empty() {
        let (frame, length) = decode(words)?.ok_or_else(Malformed::instead_of::<Frame<'_>>)?;
        land(frame)?;
        words = &words[length..];
    }
    Ok(())
}
