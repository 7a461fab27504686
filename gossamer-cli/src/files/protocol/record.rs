//! How files lie in the blocks of a stream: as records, none of which crosses the end of a block.
//!
//! The sender reads a file straight into a block, and writes the record's head in front of it afterwards. So a record
//! never promises bytes that turn out to be unreadable. The records come from outside: the receiver trusts nothing in
//! them.

/// Bytes of a record's head.
pub const HEAD: usize = 32;
/// The longest reason in a record.
pub const MOST_WORDS: usize = 1024;

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record<'a> {
    /// What follows belongs to this entry, from this offset on.
    Begin {
        /// Its place in the manifest.
        entry: u32,
        /// How many bytes the receiver has already.
        at: u64,
    },
    /// Contents.
    Data {
        /// Where they belong.
        at: u64,
        /// What they are.
        bytes: &'a [u8],
    },
    /// Contents, compressed.
    Compressed {
        /// Where they belong.
        at: u64,
        /// How many bytes they are.
        plain: usize,
        /// A frame of zstd.
        bytes: &'a [u8],
    },
    /// All of the entry was sent; its length and digest are said on the control connection.
    End,
    /// The entry cannot be sent.
    Fail {
        /// Its place in the manifest.
        entry: u32,
        /// Why.
        why: &'a str,
    },
}

impl<'a> Record<'a> {
    /// The head, and what follows it in the block.
    #[must_use]
    pub fn parts(&self) -> ([u8; HEAD], &'a [u8]) {
        let (words, bytes): ([u64; 4], &[u8]) = match *self {
            Self::Begin { entry, at } => ([1, entry.into(), at, 0], &[]),
            Self::Data { at, bytes } => ([2, bytes.len() as u64, at, 0], bytes),
            Self::Compressed { at, plain, bytes } => ([3, bytes.len() as u64, at, plain as u64], bytes),
            Self::End => ([4, 0, 0, 0], &[]),
            Self::Fail { entry, why } => {
                let why = why.get(..why.floor_char_boundary(MOST_WORDS)).unwrap_or_default();
                ([5, why.len() as u64, entry.into(), 0], why.as_bytes())
            }
        };
        let mut head = [0; HEAD];
        for (place, word) in head.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        (head, bytes)
    }
}

/// Something that is not a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// The records of a block.
#[derive(Clone, Debug)]
pub struct Records<'a>(&'a [u8]);

impl<'a> Records<'a> {
    /// Reads the records of this block.
    #[must_use]
    pub fn of(block: &'a [u8]) -> Self {
        Self(block)
    }

    fn read(&mut self, head: [u8; HEAD]) -> Option<Record<'a>> {
        let mut words = [0; HEAD / 8];
        for (word, place) in words.iter_mut().zip(head.chunks_exact(8)) {
            *word = u64::from_le_bytes(place.try_into().ok()?);
        }
        let mut follows = |count: u64| {
            let (bytes, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
            self.0 = rest;
            Some(bytes)
        };
        Some(match words {
            [1, entry, at, 0] => Record::Begin { entry: entry.try_into().ok()?, at },
            [2, count, at, 0] => Record::Data { at, bytes: follows(count)? },
            [3, count, at, plain] => {
                Record::Compressed { at, plain: plain.try_into().ok()?, bytes: follows(count)? }
            }
            [4, 0, 0, 0] => Record::End,
            [5, count, entry, 0] if count <= MOST_WORDS as u64 => Record::Fail {
                entry: entry.try_into().ok()?,
                why: std::str::from_utf8(follows(count)?).ok()?,
            },
            _ => return None,
        })
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Result<Record<'a>, Malformed>;

    /// There is none at the end of the block, nor where the rest is unused: zeros, or too little for a head.
    fn next(&mut self) -> Option<Self::Item> {
        let (head, rest) = self.0.split_first_chunk::<HEAD>()?;
        if head.first_chunk() == Some(&[0; 8]) {
            return None;
        }
        self.0 = rest;
        let record = self.read(*head).ok_or(Malformed);
        if record.is_err() {
            self.0 = &[];
        }
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_they_were_written() {
        let records = [
            Record::Begin { entry: 7, at: 1 << 40 },
            Record::Data { at: 1 << 40, bytes: b"abc" },
            Record::Compressed { at: 5, plain: 100, bytes: b"xyz" },
            Record::End,
            Record::Fail { entry: 3, why: "it is gone" },
        ];
        let mut block = Vec::new();
        for record in &records {
            let (head, bytes) = record.parts();
            block.extend_from_slice(&head);
            block.extend_from_slice(bytes);
        }
        for unused in [0, 1, HEAD, 3 * HEAD + 5] {
            let mut block = block.clone();
            block.resize(block.len() + unused, 0);
            let read: Vec<_> = Records::of(&block).map(Result::unwrap).collect();
            assert_eq!(read, records);
        }
    }

    #[test]
    fn what_is_no_record_is_refused_once() {
        let (mut head, _) = Record::Data { at: 0, bytes: b"" }.parts();
        head[8] = 1;
        let (unknown, negative) = ([9; HEAD], Record::Begin { entry: 0, at: 0 }.parts().0.map(|byte| !byte));
        for wrong in [head, unknown, negative] {
            assert_eq!(Records::of(&wrong).collect::<Vec<_>>(), [Err(Malformed)]);
        }
        let (head, _) = Record::Fail { entry: 0, why: &"é".repeat(MOST_WORDS) }.parts();
        assert_eq!(head[8..10], 1024_u16.to_le_bytes());
    }
}
