//! A sender as a writer of the standard library.

use crate::stream::ends::access::target;
use crate::stream::geometry::LONGEST;
use crate::stream::{Error, Sender};
use std::io::{self, Seek, SeekFrom, Write};

impl Write for Sender {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(self.write_some(bytes)?)
    }

    /// Like [`Sender::hand_over`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(self.hand_over()?)
    }
}

impl Seek for Sender {
    /// Seeks back as far as [`first`](Sender::first), or forward over bytes that then read as zeros; whole blocks of
    /// these are not sent.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let target = target(to, self.position, self.stream.length)?;
        let first = self.first();
        if target < first {
            return Err(Error::BehindComeback { offset: target, first }.into());
        }
        let end = self.stream.length.unwrap_or(LONGEST);
        if target > end {
            return Err(Error::Overrun { offset: target, end }.into());
        }
        self.position = target;
        Ok(target)
    }
}
