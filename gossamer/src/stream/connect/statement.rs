//! What two ends tell each other, step by step, while they prepare RDMA: some bytes, or why it cannot be.

use crate::stream::checksum::CHECKSUM;
use std::io::{self, Read, Write};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of a message at most, without what is around them.
const LONGEST: usize = 8 << 10;
/// Bytes of a reason that are told.
const LONGEST_REASON: usize = 1000;
/// The kind of the message, and its length.
const HEADER: usize = 1 + 2;

/// What one end says: bytes, or a reason in words.
pub(crate) type Statement = Result<Vec<u8>, String>;

/// Says something, and hears what the other end says.
///
/// # Errors
/// The other end is gone, or says something else.
pub(crate) fn exchange(socket: &mut (impl Read + Write), ours: &Statement) -> io::Result<Statement> {
    socket.write_all(&to_bytes(ours))?;
    read(socket)
}

/// A kind, a length, as many bytes, and the checksum of all.
pub(crate) fn to_bytes(statement: &Statement) -> Vec<u8> {
    let (kind, text) = match statement {
        Ok(bytes) => (0, &bytes[..]),
        Err(reason) => (1, &reason.as_bytes()[..reason.floor_char_boundary(LONGEST_REASON)]),
    };
    debug_assert!(text.len() <= LONGEST);
    let mut bytes = vec![kind];
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend_from_slice(text);
    bytes.extend(xxh3_64(&bytes).to_le_bytes());
    bytes
}

/// # Errors
/// The other end is gone, or says something else.
pub(crate) fn read(from: &mut impl Read) -> io::Result<Statement> {
    let malformed = || io::Error::new(io::ErrorKind::InvalidData, "the other end says what makes no sense");
    let mut message = vec![0; HEADER];
    from.read_exact(&mut message)?;
    let length = usize::from(u16::from_le_bytes([message[1], message[2]]));
    if length > LONGEST {
        return Err(malformed());
    }
    message.resize(HEADER + length + CHECKSUM, 0);
    from.read_exact(&mut message[HEADER..])?;
    let (text, checksum) = message.split_last_chunk::<CHECKSUM>().ok_or_else(malformed)?;
    if *checksum != xxh3_64(text).to_le_bytes() {
        return Err(malformed());
    }
    let bytes = &text[HEADER..];
    match message[0] {
        0 => Ok(Ok(bytes.to_vec())),
        // It is shown to users, on one line.
        1 => Ok(Err(String::from_utf8_lossy(bytes).replace(char::is_control, " "))),
        _ => Err(malformed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(statement: &Statement) -> Statement {
        read(&mut &to_bytes(statement)[..]).unwrap()
    }

    #[test]
    fn a_statement_is_read_as_it_was_said() {
        for statement in [Ok(vec![]), Ok(vec![7; LONGEST]), Err("no RDMA device".to_owned())] {
            assert_eq!(again(&statement), statement);
        }
        let long = again(&Err("é".repeat(1000))).unwrap_err();
        assert_eq!(long, "é".repeat(LONGEST_REASON / 2));
        assert_eq!(again(&Err("a\nb\u{1b}[1m".to_owned())), Err("a b [1m".to_owned()));
    }

    #[test]
    fn what_was_changed_or_cut_off_or_is_of_no_kind_is_refused() {
        let whole = to_bytes(&Ok(vec![1, 2, 3]));
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 0x10;
            assert!(read(&mut &changed[..]).is_err(), "{at}");
            assert!(read(&mut &whole[..at]).is_err(), "{at}");
        }
        assert!(read(&mut &[0, 0xff, 0xff][..]).is_err());
    }
}
