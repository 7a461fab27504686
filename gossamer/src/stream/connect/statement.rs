//! What two ends tell each other, step by step, while they prepare RDMA: a value, or why it cannot be.

use crate::stream::checksum::{CHECKSUM, checked, with_checksum};
use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of an encoded value at most.
const LONGEST: usize = 64 << 10;
/// Bytes of a length, which has its own checksum, so that nobody waits for bytes that never come.
const LENGTH: usize = 4 + CHECKSUM;

/// Sends a statement, and receives that of the other end.
///
/// # Errors
/// The other end is gone, or says something else.
pub(crate) fn exchange<T: NoRef>(
    socket: &mut (impl Read + Write),
    ours: Result<T, String>,
) -> io::Result<Result<T, String>> {
    socket.write_all(&to_bytes(ours)?)?;
    read(socket)
}

/// A length, as many bytes, and their checksum.
fn to_bytes<T: NoRef>(statement: Result<T, String>) -> io::Result<Vec<u8>> {
    let refused = |why: String| io::Error::other(why);
    let encoded = Encoder::encoded(statement).map_err(|why| refused(why.into_refusal().to_string()))?;
    if encoded.len() > LONGEST {
        return Err(refused(format!("{} bytes are too much for one message", encoded.len())));
    }
    let length: [u8; LENGTH] = with_checksum((encoded.len() as u32).to_le_bytes());
    Ok([&length[..], &encoded, &xxh3_64(&encoded).to_le_bytes()].concat())
}

/// # Errors
/// The other end is gone, or says something else.
pub(crate) fn read<T: NoRef>(from: &mut impl Read) -> io::Result<Result<T, String>> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "what the other end says makes no sense");
    let mut length = [0; LENGTH];
    from.read_exact(&mut length)?;
    let length = checked(&length).and_then(|length| length.first_chunk()).ok_or_else(malformed)?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > LONGEST {
        return Err(malformed());
    }
    let mut message = vec![0; length + CHECKSUM];
    from.read_exact(&mut message)?;
    let (text, checksum) = message.split_last_chunk::<CHECKSUM>().ok_or_else(malformed)?;
    if *checksum != xxh3_64(text).to_le_bytes() {
        return Err(malformed());
    }
    let said: Result<T, String> =
        Decoder::decoded(text).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?;
    // It is shown to users, on one line.
    Ok(said.map_err(|why| why.replace(char::is_control, " ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(statement: Result<Vec<u8>, String>) -> Result<Vec<u8>, String> {
        read(&mut &to_bytes(statement).unwrap()[..]).unwrap()
    }

    #[test]
    fn a_statement_is_read_as_it_was_said() {
        for statement in [Ok(vec![]), Ok(vec![7; 1000]), Err("no RDMA device".to_owned())] {
            assert_eq!(again(statement.clone()), statement);
        }
        assert_eq!(again(Err("a\nb\u{1b}[1m".to_owned())), Err("a b [1m".to_owned()));
        assert!(to_bytes(Ok(vec![7_u8; LONGEST])).is_err());
    }

    #[test]
    fn what_was_changed_or_cut_off_or_is_too_long_is_refused() {
        let whole = to_bytes(Ok(vec![1_u8, 2, 3])).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            assert!(read::<Vec<u8>>(&mut &changed[..]).is_err(), "{at}");
            assert!(read::<Vec<u8>>(&mut &whole[..at]).is_err(), "{at}");
        }
        let long: [u8; LENGTH] = with_checksum((LONGEST as u32 + 1).to_le_bytes());
        assert!(read::<Vec<u8>>(&mut &[&long[..], &[0; LONGEST + 100]].concat()[..]).is_err());
    }
}
