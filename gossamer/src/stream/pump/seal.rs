//! Frames and blocks as sealed records, in the order in which they are sent over one connection.
//!
//! ```text
//! frame                   a record
//! block, authenticated    a frame, then one record of all its bytes
//! block, encrypted        a frame, then records of a part of its bytes each
//! ```
//!
//! The tag of a record of bytes goes before these, so that they are received into their slot, and opened there.

use crate::stream::pump::frame::{PumpFrame, TEXT, malformed};
use crate::stream::pump::sealed_copies::{SealedCopies, SealedCopy};
use crate::transport::seal::protection::Protection;
use crate::transport::seal::record::{LONGEST, Opener, Sealer, TAG};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of a sealed frame.
pub(crate) const SEALED_FRAME: usize = TEXT + TAG;
/// Bytes of a block in one record that is encrypted. Smaller ones are more calls, and more turns of both ends' threads.
const PART: usize = LONGEST;

/// What seals one connection. Its handles share the counters of records; in each direction one of them is used at a time.
pub(crate) struct ConnectionSeal {
    sealer: Arc<Mutex<Sealer>>,
    opener: Arc<Mutex<Opener>>,
    protection: Protection,
    copies: SealedCopies,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ConnectionSeal {
    pub(crate) fn new((sealer, opener): (Sealer, Opener)) -> Self {
        let protection = sealer.protection();
        let (sealer, opener) = (Arc::new(Mutex::new(sealer)), Arc::new(Mutex::new(opener)));
        Self { sealer, opener, protection, copies: SealedCopies::default() }
    }

    /// Another handle.
    pub(crate) fn another(&self) -> Self {
        let (sealer, opener) = (Arc::clone(&self.sealer), Arc::clone(&self.opener));
        Self { sealer, opener, protection: self.protection, copies: SealedCopies::default() }
    }

    /// Whether bytes of blocks are encrypted.
    pub(crate) fn is_secret(&self) -> bool {
        self.protection == Protection::Encrypted
    }

    /// A frame as it is sent.
    ///
    /// # Errors
    /// No more can be sealed.
    pub(crate) fn frame(&self, frame: PumpFrame) -> io::Result<[u8; SEALED_FRAME]> {
        let mut record = [0; SEALED_FRAME];
        record[..TEXT].copy_from_slice(&frame.to_text());
        lock(&self.sealer).seal(0, &mut record)?;
        Ok(record)
    }

    /// A frame that has arrived.
    ///
    /// # Errors
    /// It is not the other end's next one.
    pub(crate) fn open_frame(&self, mut record: [u8; SEALED_FRAME]) -> io::Result<PumpFrame> {
        let mut opener = lock(&self.opener);
        PumpFrame::from_text(opener.open(0, &mut record)?)
    }

    /// What is sent before the bytes of a block that are only authenticated.
    ///
    /// # Errors
    /// No more can be sealed.
    pub(crate) fn headed(&self, frame: PumpFrame, bytes: &[u8]) -> io::Result<[u8; SEALED_FRAME + TAG]> {
        let mut header = [0; SEALED_FRAME + TAG];
        header[..SEALED_FRAME].copy_from_slice(&self.frame(frame)?);
        header[SEALED_FRAME..].copy_from_slice(&lock(&self.sealer).tag_of(bytes)?);
        Ok(header)
    }

    /// Sends a frame and the bytes of a block, encrypted: what goes before each record, and its sealed copy. The receiver has given up
    /// what lies before `given_up`.
    ///
    /// # Errors
    /// No more can be sealed, or those of `send`.
    pub(crate) fn send_secret(
        &mut self,
        frame: PumpFrame,
        bytes: &[u8],
        given_up: u64,
        mut send: impl FnMut(&[u8], SealedCopy<'_>) -> io::Result<()>,
    ) -> io::Result<()> {
        let PumpFrame::Bytes { offset: mut end, .. } = frame else { return Err(malformed()) };
        let mut header = self.frame(frame)?.to_vec();
        for part in bytes.chunks(PART) {
            end += part.len() as u64;
            let sealer = &self.sealer;
            let seal = |copy: &mut [u8]| lock(sealer).seal_copy(part, copy);
            let (tag, copy) = self.copies.make(part.len(), end, given_up, seal)?;
            header.extend_from_slice(&tag);
            send(&header, copy)?;
            header.clear();
        }
        Ok(())
    }

    /// Receives the bytes of a block into their slot.
    ///
    /// # Errors
    /// They are not those that the other end has sealed next, or those of `read`.
    pub(crate) fn receive(
        &mut self,
        slot: &mut [u8],
        mut read: impl FnMut(&mut [u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let most = if self.is_secret() { PART } else { usize::MAX };
        for part in slot.chunks_mut(most) {
            let mut tag = [0; TAG];
            read(&mut tag)?;
            read(part)?;
            lock(&self.opener).open_apart(part, &tag)?;
        }
        Ok(())
    }
}
