//! Frames, in records, that wait for a socket to take them.

use crate::fabric::tcp::frame::{self, encode_fragment, encode_write};
use crate::fabric::{FRAGMENT_BYTES, Fragment, Slots};
use crate::transport::records::{HEAD, RecordWriter};
use crate::transport::seal::record::SealError;
use crate::wire::word::{Word, bytes_of, bytes_of_mut};
use std::io::{self, ErrorKind, Write};

/// Bytes of a record that gets no more frames: it is still in the processor's cache when it is sealed and opened.
const FULL: usize = FRAGMENT_BYTES;
/// Bytes of the longest record: a frame that was added to an almost full one, and what precedes and follows all frames.
pub(super) const LONGEST: usize = FULL + frame::LONGEST + 64;

/// Records that wait, and the one that is being filled.
pub(super) struct OutgoingRecords {
    writer: RecordWriter,
    words: Vec<u64>,
    /// The first word of the record that is being filled.
    open: Option<usize>,
    /// Bytes of `words` that the socket has taken.
    sent: usize,
    /// Why a record could not be sealed.
    failed: Option<SealError>,
}

impl OutgoingRecords {
    pub(super) fn new(writer: RecordWriter) -> Self {
        Self { writer, words: Vec::new(), open: None, sent: 0, failed: None }
    }

    /// Adds a write into the slots of a worker.
    ///
    /// # Safety
    /// W6.
    #[inline]
    pub(super) unsafe fn write(&mut self, to: (u32, Slots), slot: usize, header: u64, body: &[Word]) {
        self.open();
        // SAFETY: W6: guaranteed by the caller.
        unsafe { encode_write(&mut self.words, to, slot, header, body) };
    }

    /// Adds a fragment for a worker.
    pub(super) fn send(&mut self, worker: u32, fragment: Fragment<'_>) {
        self.open();
        encode_fragment(&mut self.words, worker, fragment);
    }

    /// Bytes that the socket has not taken.
    #[inline]
    pub(super) fn unsent(&self) -> usize {
        size_of_val(&self.words[..]) - self.sent
    }

    /// Opens a record that takes another frame, unless one is open.
    #[inline]
    fn open(&mut self) {
        if let Some(start) = self.open {
            if size_of_val(&self.words[start..]) < FULL {
                return;
            }
            self.close();
        }
        self.open = Some(self.words.len());
        self.words.push(0);
        const { assert!(HEAD == size_of::<u64>()) };
    }

    /// Seals the record that is being filled, if there is one.
    #[inline]
    fn close(&mut self) {
        if let Some(start) = self.open.take() {
            let end = self.words.len() + self.writer.trailer() / size_of::<u64>();
            self.words.resize(end, 0);
            let sealed = self.writer.seal(bytes_of_mut(&mut self.words[start..]));
            self.failed = self.failed.take().or(sealed.err());
        }
    }

    /// Sends what is there, as far as the socket takes it.
    ///
    /// # Errors
    /// If the connection is lost.
    #[inline]
    pub(super) fn flush(&mut self, mut socket: impl Write) -> io::Result<()> {
        if self.words.is_empty() {
            return Ok(());
        }
        self.close();
        if let Some(failed) = self.failed {
            return Err(failed.into());
        }
        let bytes = bytes_of(&self.words);
        while self.sent < bytes.len() {
            match socket.write(&bytes[self.sent..]) {
                Ok(taken) => self.sent += taken,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.words.clear();
        self.sent = 0;
        Ok(())
    }
}
