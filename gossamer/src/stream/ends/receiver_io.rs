//! A receiver as a reader of the standard library.

use crate::stream::ends::access::target;
use crate::stream::{Error, Receiver};
use std::io::{self, BufRead, Read, Seek, SeekFrom};

impl Read for Receiver {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Receiver {
    /// The rest of the block at the position, or what was flushed of it.
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.reach(self.position, 1)? {
            Some(bytes) => Ok(self.bytes_at(self.position, bytes)),
            None => {
                self.stream.finish_receiving()?;
                Ok(&[])
            }
        }
    }

    fn consume(&mut self, count: usize) {
        self.read.add(count as u64);
        self.position = self.position.saturating_add(count as u64);
    }
}

impl Seek for Receiver {
    /// Seeks back as far as [`first`](Receiver::first), or forward, which skips data.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = target(to, self.position, self.length())?;
        let first = self.first();
        if target < first {
            return Err(Error::BehindComeback { offset: target, first }.into());
        }
        self.position = target;
        Ok(target)
    }
}
