//! Tables of counts: a fiber's own, the shards', and the batches that go from one to the other.

use foldhash::fast::RandomState;
use gossamer::NoRef;
use std::collections::HashMap;

/// Different words after which a fiber's table is full. It then still fits in the cache of a processor.
const MOST_WORDS: usize = 1 << 14;
/// Bytes of long words after which a fiber's table is full.
const MOST_BYTES: usize = 4 << 20;
/// Bytes that fit in a number.
const SHORT: usize = size_of::<u128>();

/// Counts of words.
#[derive(Default)]
pub struct Table {
    /// Most words are short: as a number one is hashed and compared at once, and needs no memory of its own.
    short: HashMap<u128, u64, RandomState>,
    long: HashMap<Box<[u8]>, u64, RandomState>,
    long_bytes: usize,
}

impl Table {
    /// Counts a word, which is not empty and holds no zero byte, so many times more.
    #[inline(always)]
    pub fn add(&mut self, word: &[u8], times: u64) {
        if word.len() <= SHORT {
            *self.short.entry(to_number(word)).or_default() += times;
        } else {
            self.add_long(word, times);
        }
    }

    fn add_long(&mut self, word: &[u8], times: u64) {
        match self.long.get_mut(word) {
            Some(count) => *count += times,
            None => {
                self.long.insert(word.into(), times);
                self.long_bytes += word.len();
            }
        }
    }

    /// All counts, in no order.
    pub fn counts(&self) -> impl Iterator<Item = u64> {
        self.short.values().chain(self.long.values()).copied()
    }

    /// Whether a fiber should take the counts out and hand them over.
    pub fn is_full(&self) -> bool {
        self.short.len() + self.long.len() >= MOST_WORDS || self.long_bytes >= MOST_BYTES
    }

    /// Takes all counts out.
    pub fn drain(&mut self, mut take: impl FnMut(&[u8], u64)) {
        for (number, count) in self.short.drain() {
            let (bytes, length) = from_number(number);
            take(&bytes[..length], count);
        }
        for (word, count) in self.long.drain() {
            take(&word, count);
        }
        self.long_bytes = 0;
    }
}

/// The word as a number, its first byte lowest. No two words have the same, since none holds a zero byte.
#[inline(always)]
fn to_number(word: &[u8]) -> u128 {
    // Two loads that may overlap read any length; a byte read twice is the same byte twice.
    if let (Some(first), Some(last)) = (word.first_chunk::<8>(), word.last_chunk::<8>()) {
        let last = u128::from(u64::from_le_bytes(*last));
        u128::from(u64::from_le_bytes(*first)) | last << (8 * (word.len() - 8))
    } else if let (Some(first), Some(last)) = (word.first_chunk::<4>(), word.last_chunk::<4>()) {
        let last = u64::from(u32::from_le_bytes(*last));
        u128::from(u64::from(u32::from_le_bytes(*first)) | last << (8 * (word.len() - 4)))
    } else {
        word.iter().rev().fold(0, |number, byte| number << 8 | u128::from(*byte))
    }
}

fn from_number(number: u128) -> ([u8; SHORT], usize) {
    (number.to_le_bytes(), SHORT - number.leading_zeros() as usize / 8)
}

/// Counts of many words, on their way to a shard: one request for all of them.
#[derive(Default, NoRef)]
pub struct Batch {
    /// All words, without anything between them.
    bytes: Vec<u8>,
    /// Their lengths and counts.
    words: Vec<(u32, u64)>,
}

impl Batch {
    /// Adds the count of a word.
    pub fn push(&mut self, word: &[u8], count: u64) {
        self.bytes.extend_from_slice(word);
        self.words.push((word.len() as u32, count));
    }

    /// Whether there is nothing to send.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// The words with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], u64)> {
        let mut rest = self.bytes.as_slice();
        self.words.iter().map(move |(length, count)| {
            let (word, after) = rest.split_at(*length as usize);
            rest = after;
            (word, *count)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_any_length_come_out_as_they_went_in() {
        let letters: Vec<u8> = (1..=u8::MAX).collect();
        let mut table = Table::default();
        for length in 1..=letters.len() {
            (0..length).for_each(|_| table.add(&letters[..length], 1));
            table.add(&letters[..length], 1000);
        }
        let mut seen = vec![0; letters.len() + 1];
        table.drain(|word, count| {
            assert_eq!(word, &letters[..word.len()]);
            seen[word.len()] = count;
        });
        assert!((1..).zip(&seen[1..]).all(|(length, count)| *count == 1000 + length), "{seen:?}");
        table.drain(|word, _| panic!("{word:?} is still there"));
    }

    #[test]
    fn a_table_is_full_before_it_is_large() {
        let mut table = Table::default();
        let mut words = 0_u64;
        while !table.is_full() {
            table.add(format!("word{words}").as_bytes(), 1);
            words += 1;
        }
        assert_eq!(words, MOST_WORDS as u64);
        table.drain(|_, _| ());
        for word in 0..64_u8 {
            assert!(!table.is_full());
            table.add(&vec![word + 1; MOST_BYTES / 64], 1);
        }
        assert!(table.is_full());
    }

    #[test]
    fn a_batch_gives_its_words_back_in_order() {
        let words = [(b"one".as_slice(), 1), (b"of many", 2), (b"z", u64::MAX)];
        let mut batch = Batch::default();
        assert!(batch.is_empty());
        words.iter().for_each(|(word, count)| batch.push(word, *count));
        assert!(!batch.is_empty() && batch.iter().eq(words));
    }
}
