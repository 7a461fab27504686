//! The header word of a batch, the same for requests and responses.
//!
//! ```text
//! word 0   sequence (32) | count (16) | words (16)      written last, read first
//! request batch:   per request its header word (see `request`), then its arguments
//!                  per run of requests one header word, their number, then the arguments of each
//! response batch:  words of failures: bit i set = request i failed; then the results in order
//! ```
//!
//! Arguments and results are rounded up to whole words. Their size is not sent: the operation determines it (thesis
//! 3.2.8).

/// Words in the body of a slot, after its header word. A slot is 1 KiB, the size of thesis 3.2.7.
pub(crate) const BODY_WORDS: usize = if cfg!(loom) { 7 } else { 127 };
/// The same for a slot that is written from another machine: 7 KiB.
pub(crate) const FAR_BODY_WORDS: usize = 895;
/// Words of a response batch inside a process that say which requests failed.
pub(crate) const FAILURE_WORDS: usize = failure_words(BODY_WORDS);

/// Words that have a bit for each of `count` requests. Each response takes at least a word, so those for as many requests as a
/// slot has words are enough for every batch.
#[inline(always)]
pub(crate) const fn failure_words(count: usize) -> usize {
    count.div_ceil(64)
}

/// The header word of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Number of the batch on its lane, from 1, wrapping. A slot whose header has the number awaited holds that batch.
    pub(crate) sequence: u32,
    /// Requests (or responses) in it.
    pub(crate) count: u16,
    /// Words of body in use.
    pub(crate) words: u16,
}

impl Header {
    #[inline]
    pub(crate) fn pack(self) -> u64 {
        u64::from(self.sequence) << 32 | u64::from(self.count) << 16 | u64::from(self.words)
    }

    #[inline]
    pub(crate) fn unpack(word: u64) -> Self {
        Self { sequence: (word >> 32) as u32, count: (word >> 16) as u16, words: word as u16 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_survives_packing() {
        for sequence in [0, 1, u32::MAX] {
            let header = Header { sequence, count: 64, words: 127 };
            assert_eq!(Header::unpack(header.pack()), header);
        }
    }
}
