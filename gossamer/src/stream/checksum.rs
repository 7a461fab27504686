//! Messages with a checksum behind them, the xxh3 of their text: a changed number would be a hang or a short stream, not an error.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a checksum.
pub(crate) const CHECKSUM: usize = 8;

/// What is sent of this text.
pub(crate) fn with_checksum<const TEXT: usize, const BYTES: usize>(text: [u8; TEXT]) -> [u8; BYTES] {
    const { assert!(BYTES == TEXT + CHECKSUM) };
    let mut bytes = [0; BYTES];
    bytes[..TEXT].copy_from_slice(&text);
    bytes[TEXT..].copy_from_slice(&xxh3_64(&text).to_le_bytes());
    bytes
}

/// The text, if the message is as it was sent.
pub(crate) fn checked<const BYTES: usize>(bytes: &[u8; BYTES]) -> Option<&[u8]> {
    let (text, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
    (*checksum == xxh3_64(text).to_le_bytes()).then_some(text)
}
