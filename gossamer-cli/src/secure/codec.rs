//! Messages as bytes (postcard).

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind};

/// The bytes of a message.
///
/// # Errors
/// If the type of the message has no encoding; all of ours have one.
pub fn encode(message: &impl Serialize) -> io::Result<Vec<u8>> {
    postcard::to_stdvec(message).map_err(|error| io::Error::new(ErrorKind::InvalidInput, error))
}

/// Decodes a message, which must take all of these bytes.
///
/// # Errors
/// If they are not exactly one message of this type.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> io::Result<T> {
    let wrong = || io::Error::new(ErrorKind::InvalidData, "a message cannot be decoded");
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        _ => Err(wrong()),
    }
}
