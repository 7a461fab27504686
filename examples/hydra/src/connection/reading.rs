//! What a client has sent and what was not executed yet: it takes no more memory than that, and little while the client
//! is silent.

use crate::connection::stream::Stream;
use std::io;

/// This much memory is kept for what comes next.
const KEPT: usize = 1024;
/// A longer request ends its connection.
const LARGEST: usize = 1 << 30;

#[derive(Default)]
pub struct Input(Vec<u8>);

impl Input {
    /// Waits for bytes; returns how many there are, 0 at the end.
    pub fn read(&mut self, stream: &Stream) -> io::Result<usize> {
        if self.0.len() >= LARGEST {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a request is too long"));
        }
        stream.read_available(&mut self.0)
    }

    /// How many bytes have not been used yet.
    pub fn length(&self) -> usize {
        self.0.len()
    }

    /// What has not been used yet, to be put back later.
    #[inline]
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.0)
    }

    /// Puts back what was not used, before what was read meanwhile.
    #[inline]
    pub fn put_back(&mut self, mut bytes: Vec<u8>, used: usize) {
        bytes.drain(..used);
        bytes.extend_from_slice(&self.0);
        if bytes.capacity() > KEPT && bytes.len() < bytes.capacity() / 4 {
            bytes.shrink_to(KEPT);
        }
        self.0 = bytes;
    }
}
