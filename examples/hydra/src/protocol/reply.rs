//! Replies, in the words of RESP2 or RESP3.

use crate::protocol::{float, number};

/// Writes replies one after another.
pub struct Replies<'a> {
    to: &'a mut Vec<u8>,
    is_resp3: bool,
}

impl<'a> Replies<'a> {
    #[inline]
    pub fn new(to: &'a mut Vec<u8>, is_resp3: bool) -> Self {
        Self { to, is_resp3 }
    }

    #[inline]
    fn line(&mut self, kind: u8, number: i64) {
        self.to.push(kind);
        number::write(self.to, number);
        self.to.extend_from_slice(b"\r\n");
    }

    /// Bytes that are not a complete reply.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.to.extend_from_slice(bytes);
    }

    /// Where such bytes are appended.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        self.to
    }

    #[inline]
    pub fn integer(&mut self, number: i64) {
        self.line(b':', number);
    }

    pub fn length(&mut self, length: usize) {
        self.integer(length as i64);
    }

    #[inline]
    pub fn bulk(&mut self, bytes: &[u8]) {
        self.to.reserve(bytes.len() + 24);
        self.line(b'$', bytes.len() as i64);
        self.to.extend_from_slice(bytes);
        self.to.extend_from_slice(b"\r\n");
    }

    /// The head of an array of this many replies, which follow.
    pub fn array(&mut self, count: usize) {
        self.line(b'*', count as i64);
    }

    /// The head of a map of this many pairs, which follow.
    pub fn map(&mut self, count: usize) {
        if self.is_resp3 { self.line(b'%', count as i64) } else { self.array(2 * count) }
    }

    /// The head of a set of this many members, which follow.
    pub fn set(&mut self, count: usize) {
        self.line(if self.is_resp3 { b'~' } else { b'*' }, count as i64);
    }

    /// The head of something that was not asked for, with this many parts, which follow.
    pub fn push(&mut self, count: usize) {
        self.line(if self.is_resp3 { b'>' } else { b'*' }, count as i64);
    }

    /// The head of pairs, each of which `pair` begins: flat in RESP2.
    pub fn pairs(&mut self, count: usize) {
        self.array(if self.is_resp3 { count } else { 2 * count });
    }

    pub fn pair(&mut self) {
        if self.is_resp3 {
            self.array(2);
        }
    }

    /// A number that need not be an integer.
    pub fn double(&mut self, number: f64) {
        let text = float::text_of_float(number);
        if self.is_resp3 {
            self.to.push(b',');
            self.to.extend_from_slice(text.as_bytes());
            self.to.extend_from_slice(b"\r\n");
        } else {
            self.bulk(text.as_bytes());
        }
    }

    #[inline]
    pub fn ok(&mut self) {
        self.to.extend_from_slice(b"+OK\r\n");
    }

    pub fn simple(&mut self, text: &str) {
        self.to.push(b'+');
        self.to.extend_from_slice(text.as_bytes());
        self.to.extend_from_slice(b"\r\n");
    }

    /// No value.
    #[inline]
    pub fn null(&mut self) {
        self.to.extend_from_slice(if self.is_resp3 { b"_\r\n" } else { b"$-1\r\n" });
    }

    /// No array.
    pub fn null_array(&mut self) {
        self.to.extend_from_slice(if self.is_resp3 { b"_\r\n" } else { b"*-1\r\n" });
    }

    /// A text for people, with several lines.
    pub fn verbatim(&mut self, text: &str) {
        if self.is_resp3 {
            self.line(b'=', text.len() as i64 + 4);
            self.to.extend_from_slice(b"txt:");
            self.to.extend_from_slice(text.as_bytes());
            self.to.extend_from_slice(b"\r\n");
        } else {
            self.bulk(text.as_bytes());
        }
    }

    /// An error, which begins with its kind in capitals. Line ends in it become spaces, as they would end it.
    #[cold]
    pub fn error(&mut self, text: &[u8]) {
        self.to.push(b'-');
        self.to.extend(text.iter().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { *byte }));
        self.to.extend_from_slice(b"\r\n");
    }
}
