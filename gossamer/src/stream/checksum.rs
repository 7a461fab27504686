//! Messages followed by a checksum, the xxh3 of their text: otherwise a corrupted number would cause a hang or a
//! short stream, not an error.

use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a checksum.
pub(crate) const CHECKSUM: usize = 8;

/// The message for this text.
pub(crate) fn with_checksum<const TEXT: usize, const BYTES: usize>(text: [u8; TEXT]) -> [u8; BYTES] {
    const { assert!(BYTES == TEXT + CHECKSUM) };
    let mut bytes = [0; BYTES];
    bytes[..TEXT].copy_from_slice(&text);
    bytes[TEXT..].copy_from_slice(&xxh3_64(&text).to_le_bytes());
    bytes
}

/// The text, if the message is intact.
pub(crate) fn checked<const BYTES: usize>(bytes: &[u8; BYTES]) -> Option<&[u8]> {
    let (text, checksum) = bytes.split_last_chunk::<CHECKSUM>()?;
    (*checksum == xxh3_64(text).to_le_bytes()).then_some(text)
}
