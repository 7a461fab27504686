//! Records: bytes that one end seals and the other opens, in order.

use crate::transport::seal::agreement::ConnectionSide;
use crate::transport::seal::protection::Protection;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use std::fmt::{self, Display, Formatter};
use std::io;

/// Bytes that sealing adds to a record.
pub(crate) const TAG: usize = 16;
/// Bytes that one record can keep secret.
pub(crate) const LONGEST: usize = 1 << 20;
/// Records that one key seals (X4).
pub(super) const RECORDS_PER_KEY: u64 = 1 << 20;

/// Why nothing is sealed or opened any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealError {
    /// What has arrived is not what the other end sealed next.
    Forged,
    /// It cannot be sealed: it is too long, or all record numbers are used.
    Exhausted,
}

impl Display for SealError {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Forged => {
                "what has come is not what the other end has sent: somebody on the way has changed, repeated or left out something, \
                 or the network or a memory is broken"
            }
            Self::Exhausted => "no more can be sealed on this connection: make another one",
        })
    }
}

impl std::error::Error for SealError {}

impl From<SealError> for io::Error {
    fn from(error: SealError) -> Self {
        let kind = match error {
            SealError::Forged => io::ErrorKind::InvalidData,
            SealError::Exhausted => io::ErrorKind::InvalidInput,
        };
        Self::new(kind, error)
    }
}

/// The keys of one direction of a connection, one after the other.
pub(super) struct RecordKeys {
    secret: [u8; 32],
    direction: ConnectionSide,
    protection: Protection,
    key: LessSafeKey,
    /// How many records there have been.
    count: u64,
}

impl RecordKeys {
    pub(super) fn new(
        secret: [u8; 32],
        direction: ConnectionSide,
        protection: Protection,
    ) -> Result<Self, SealError> {
        let key = Self::key(&secret, direction, 0)?;
        Ok(Self { secret, direction, protection, key, count: 0 })
    }

    /// The key of a direction (X2), of this generation (X4).
    fn key(secret: &[u8; 32], direction: ConnectionSide, generation: u64) -> Result<LessSafeKey, SealError> {
        let context = match direction {
            ConnectionSide::Connects => "gossamer 2026 key of records of who connects",
            ConnectionSide::Accepts => "gossamer 2026 key of records of who accepts",
        };
        let key = blake3::derive_key(context, &[&secret[..], &generation.to_le_bytes()].concat());
        UnboundKey::new(&AES_256_GCM, &key).map(LessSafeKey::new).map_err(|_| SealError::Exhausted)
    }

    /// The number of the next record, never used before with its key (X3).
    fn next(&mut self) -> Result<Nonce, SealError> {
        let number = self.count;
        self.count = number.checked_add(1).ok_or(SealError::Exhausted)?;
        if number > 0 && number.is_multiple_of(RECORDS_PER_KEY) {
            self.key = Self::key(&self.secret, self.direction, number / RECORDS_PER_KEY)?;
        }
        let mut nonce = [0; 12];
        nonce[..8].copy_from_slice(&number.to_le_bytes());
        Ok(Nonce::assume_unique_for_key(nonce))
    }

    /// How many bytes of a record are only authenticated, if at least this many are to stay readable.
    fn clear_part(&self, clear: usize, text: usize) -> Result<usize, SealError> {
        let clear = if self.protection == Protection::Encrypted { clear } else { text };
        (clear <= text && text - clear <= LONGEST).then_some(clear).ok_or(SealError::Exhausted)
    }

    /// Fails if records are secret.
    fn require_readable(&self) -> Result<(), SealError> {
        (self.protection == Protection::Authenticated).then_some(()).ok_or(SealError::Exhausted)
    }
}

/// Seals what is sent over one direction of a connection.
pub(crate) struct Sealer(pub(super) RecordKeys);

impl Sealer {
    /// The level of what is sealed.
    pub(crate) fn protection(&self) -> Protection {
        self.0.protection
    }

    /// Seals a record in place, except its first `clear` bytes, which stay readable. Its last `TAG` bytes are room for
    /// the tag.
    ///
    /// # Errors
    /// It is too long, or shorter than its clear bytes and tag.
    pub(crate) fn seal(&mut self, clear: usize, record: &mut [u8]) -> Result<(), SealError> {
        let length = record.len().checked_sub(TAG).ok_or(SealError::Exhausted)?;
        let clear = self.0.clear_part(clear, length)?;
        let nonce = self.0.next()?;
        let (text, place) = record.split_at_mut(length);
        let (clear, secret) = text.split_at_mut(clear);
        let tag = self.0.key.seal_in_place_separate_tag(nonce, Aad::from(&*clear), secret);
        place.copy_from_slice(tag.map_err(|_| SealError::Exhausted)?.as_ref());
        Ok(())
    }

    /// Seals a copy of `text` as a record without a readable part. Writes all its bytes but the last `TAG`, which it
    /// returns.
    ///
    /// # Errors
    /// It is too long, or the place for it has another length.
    pub(crate) fn seal_copy(&mut self, text: &[u8], sealed: &mut [u8]) -> Result<[u8; TAG], SealError> {
        if sealed.len() != text.len() {
            return Err(SealError::Exhausted);
        }
        if self.0.clear_part(0, text.len())? > 0 {
            sealed.copy_from_slice(text);
            return self.tag_of(text);
        }
        let nonce = self.0.next()?;
        let mut tag = [0; TAG];
        let done = self.0.key.seal_out_of_place_scatter(nonce, Aad::empty(), text, sealed, &[], &mut tag);
        done.map(|()| tag).map_err(|_| SealError::Exhausted)
    }

    /// The last `TAG` bytes of a record that is only authenticated: the tag of its other bytes, which need not lie
    /// beside it.
    ///
    /// # Errors
    /// It is to be kept secret, or all record numbers are used.
    pub(crate) fn tag_of(&mut self, text: &[u8]) -> Result<[u8; TAG], SealError> {
        self.0.require_readable()?;
        let nonce = self.0.next()?;
        let tag = self.0.key.seal_in_place_separate_tag(nonce, Aad::from(text), &mut []);
        tag.ok().and_then(|tag| tag.as_ref().try_into().ok()).ok_or(SealError::Exhausted)
    }
}

/// Opens what arrives over one direction of a connection. Once something was refused, nothing opens any more (X5).
pub(crate) struct Opener(pub(super) RecordKeys);

impl Opener {
    /// Opens the next record in place. Returns its bytes, without the tag.
    ///
    /// # Errors
    /// It is not the other end's next record.
    pub(crate) fn open<'a>(&mut self, clear: usize, record: &'a mut [u8]) -> Result<&'a mut [u8], SealError> {
        let length = record.len().checked_sub(TAG).ok_or(SealError::Forged);
        let (length, clear) = length
            .and_then(|length| Ok((length, self.0.clear_part(clear, length)?)))
            .map_err(|_| self.refuse())?;
        let nonce = self.0.next().map_err(|_| SealError::Forged)?;
        let (readable, secret) = record.split_at_mut(clear);
        let opened = self.0.key.open_in_place(nonce, Aad::from(&*readable), secret).map(drop);
        opened.map_err(|_| self.refuse())?;
        Ok(&mut record[..length])
    }

    /// Opens the next record, which has no readable part, in place; its last `TAG` bytes lie elsewhere. If it is
    /// refused, its content is of no use.
    ///
    /// # Errors
    /// It is not the other end's next record.
    pub(crate) fn open_apart(&mut self, record: &mut [u8], tag: &[u8; TAG]) -> Result<(), SealError> {
        let clear = self.0.clear_part(0, record.len()).map_err(|_| self.refuse())?;
        let nonce = self.0.next().map_err(|_| SealError::Forged)?;
        let (readable, secret) = record.split_at_mut(clear);
        let opened =
            self.0.key.open_in_place_separate_tag(nonce, Aad::from(&*readable), tag, secret).map(drop);
        opened.map_err(|_| self.refuse())
    }

    /// Nothing opens any more.
    fn refuse(&mut self) -> SealError {
        self.0.count = u64::MAX;
        SealError::Forged
    }
}

#[cfg(test)]
impl Sealer {
    /// As if there had been this many records.
    pub(super) fn skip_to(&mut self, count: u64) {
        self.0.count = count;
    }
}

#[cfg(test)]
impl Opener {
    /// As if there had been this many records.
    pub(super) fn skip_to(&mut self, count: u64) {
        self.0.count = count;
    }
}
