//! A digest of a file's contents that does not depend on where the file has holes, and costs nothing inside holes.
//!
//! The contents are cut into pieces. The digest covers the numbers and the hashes of those pieces that are not all
//! zeros, and the length. So a file on a file system without holes has the same digest as its sparse original.

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

/// Bytes in a piece.
const PIECE: usize = 1 << 20;
static ZEROS: [u8; PIECE] = [0; PIECE];

/// The digest of some contents.
pub type Digest = u128;

/// Takes contents from front to back; ranges that are skipped are zeros.
#[derive(Clone)]
pub struct Hasher {
    whole: Xxh3,
    piece: Xxh3,
    /// Bytes so far.
    at: u64,
    zeros: Digest,
}

impl Default for Hasher {
    fn default() -> Self {
        Self { whole: Xxh3::new(), piece: Xxh3::new(), at: 0, zeros: xxh3_128(&ZEROS) }
    }
}

impl Hasher {
    /// Bytes so far.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The bytes at an offset, which is not below [`at`](Self::at).
    pub fn update(&mut self, offset: u64, mut bytes: &[u8]) {
        self.pass_over(offset);
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(self.room()));
            self.piece.update(now);
            self.advance(now.len());
            bytes = later;
        }
    }

    /// The digest of contents of this length, which is not below [`at`](Self::at).
    #[must_use]
    pub fn finish(mut self, length: u64) -> Digest {
        self.pass_over(length);
        let rest = PIECE - self.room();
        if rest > 0 {
            self.end_piece(xxh3_128(&ZEROS[..rest]));
        }
        self.whole.update(&length.to_le_bytes());
        self.whole.digest128()
    }

    /// Zeros up to an offset, if that is above [`at`](Self::at).
    pub fn pass_over(&mut self, offset: u64) {
        while self.at < offset {
            let left = offset - self.at;
            if self.room() == PIECE && left >= PIECE as u64 {
                self.at += left - left % PIECE as u64;
            } else {
                let zeros = usize::try_from(left).unwrap_or(PIECE).min(self.room());
                self.piece.update(&ZEROS[..zeros]);
                self.advance(zeros);
            }
        }
    }

    /// Bytes that the piece still has room for.
    fn room(&self) -> usize {
        PIECE - (self.at % PIECE as u64) as usize
    }

    fn advance(&mut self, bytes: usize) {
        let ends = bytes == self.room();
        self.at += bytes as u64;
        if ends {
            self.end_piece(self.zeros);
        }
    }

    /// Ends a piece; `zeros` is the hash of a piece that has nothing but zeros.
    fn end_piece(&mut self, zeros: Digest) {
        let hash = self.piece.digest128();
        if hash != zeros {
            self.whole.update(&((self.at - 1) / PIECE as u64).to_le_bytes());
            self.whole.update(&hash.to_le_bytes());
        }
        self.piece.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(parts: &[(u64, &[u8])], length: u64) -> Digest {
        let mut hasher = Hasher::default();
        for (offset, bytes) in parts {
            hasher.update(*offset, bytes);
        }
        hasher.finish(length)
    }

    #[test]
    fn holes_and_zeros_are_the_same() {
        let length = 5 * PIECE + 77;
        let mut contents = vec![0; length];
        contents[PIECE + 5] = 1;
        contents[4 * PIECE] = 2;
        let whole = digest(&[(0, &contents)], length as u64);
        let with_holes = [(PIECE as u64 + 3, &[0, 0, 1, 0][..]), (4 * PIECE as u64, &[2])];
        assert_eq!(digest(&with_holes, length as u64), whole);
        for cut in [1, PIECE - 1, PIECE, PIECE + 1, length - 1] {
            let (front, back) = contents.split_at(cut);
            assert_eq!(digest(&[(0, front), (cut as u64, back)], length as u64), whole, "{cut}");
        }
    }

    #[test]
    fn other_contents_have_other_digests() {
        let zeros = vec![0; 2 * PIECE];
        let seen = [
            digest(&[], 0),
            digest(&[], 1),
            digest(&[(0, &zeros)], 2 * PIECE as u64),
            digest(&[(0, &[1])], 1),
            digest(&[(0, &[1])], 2),
            digest(&[(PIECE as u64, &[1])], 1 + PIECE as u64),
            digest(&[(1 << 50, &[1])], 1 + (1 << 50)),
        ];
        for (index, digest) in seen.iter().enumerate() {
            assert!(!seen[..index].contains(digest), "{index}");
        }
        assert_eq!(digest(&[(0, &zeros)], 2 * PIECE as u64), digest(&[], 2 * PIECE as u64));
    }
}
