//! The one-time code that pairs a sender with a receiver, and the keys that are derived from it.

use crate::exit::{FAILED, Failure};
use crate::secure::key::Key;
use std::fmt;

/// The digits, without those that look like others. Each stands for five bits.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// A code has this many digits, 100 bits: too many to guess, so the code itself can be the key.
const LENGTH: usize = 20;
const GROUP: usize = 4;

/// A code, as its digits.
#[derive(Clone, PartialEq, Eq)]
pub struct Code([u8; LENGTH]);

impl Code {
    /// A new one.
    ///
    /// # Errors
    /// If the kernel gives no random bytes.
    pub fn generate() -> Result<Self, Failure> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes)
            .map_err(|error| Failure::new(FAILED, format!("the kernel gives no random bytes: {error}")))?;
        Ok(Self(bytes.map(|byte| DIGITS.get(usize::from(byte % 32)).copied().unwrap_or(b'0'))))
    }

    /// Reads a code as people type it: in capitals, without hyphens, or with letters that look like digits.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().filter(|byte| !matches!(byte, b'-' | b' ')).map(|byte| {
            match byte.to_ascii_lowercase() {
                b'o' => b'0',
                b'i' | b'l' => b'1',
                digit => digit,
            }
        });
        let digits: Vec<u8> = digits.collect();
        digits.iter().all(|digit| DIGITS.contains(digit)).then(|| digits.try_into().ok().map(Self))?
    }

    /// What proves that the other side knows the code, too.
    #[must_use]
    pub fn key(&self) -> Key {
        Key::new(blake3::derive_key("gossamer 2026 code of a file transfer", &self.0))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups: Vec<&str> =
            self.0.chunks(GROUP).map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
        f.write_str(&groups.join("-"))
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Code")
    }
}

/// The key of a rack, as used for files: knowing it proves nothing to a daemon.
#[must_use]
pub fn key_of_rack(key: &Key) -> Key {
    Key::new(blake3::derive_key("gossamer 2026 key of a rack for file transfers", key.bytes()))
}

/// The key of one transfer's memory stream, in hexadecimal digits; `nonce` makes it different from every other one.
#[must_use]
pub fn stream_key(key: &Key, nonce: &[u8; 32]) -> String {
    let bytes =
        blake3::derive_key("gossamer 2026 stream of a file transfer", &[&key.bytes()[..], nonce].concat());
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_it_was_printed_and_as_people_type_it() {
        let code = Code::generate().unwrap();
        let text = code.to_string();
        assert_eq!(text.len(), 24);
        for typed in [
            text.clone(),
            text.to_uppercase(),
            text.replace('-', ""),
            text.replace('0', "O").replace('1', "l"),
        ] {
            assert!(Code::parse(&typed) == Some(code.clone()), "{typed}");
        }
        for wrong in ["", "abcd", &text[1..], &format!("{text}0"), &text.replace(&text[..1], "u")] {
            assert!(Code::parse(wrong).is_none(), "{wrong}");
        }
        assert_ne!(code, Code::generate().unwrap());
    }
}
