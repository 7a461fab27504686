//! Bytes on their way into memory: word by word, in any order.

use fastrand::Rng;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};

/// Some bytes of a message that land in one region.
pub(crate) struct Landing {
    pub key: u32,
    pub address: u64,
    bytes: Vec<u8>,
    /// The words of memory that are not written yet, the next one last; word 0 has the first byte.
    left: Vec<u32>,
}

impl Landing {
    pub(crate) fn new(key: u32, address: u64, bytes: Vec<u8>, random: &mut Rng, in_order: bool) -> Self {
        let end = address + bytes.len() as u64;
        let words = end.div_ceil(8) - address / 8;
        let mut left: Vec<u32> = (0..words as u32).rev().collect();
        if !in_order {
            random.shuffle(&mut left);
        }
        Self { key, address, bytes, left }
    }

    pub(crate) fn length(&self) -> u64 {
        self.bytes.len() as u64
    }

    pub(crate) fn is_done(&self) -> bool {
        self.left.is_empty()
    }

    /// Writes the next words.
    ///
    /// # Safety
    /// The memory is that of a region that was found under the lock that is still held (X2).
    pub(crate) unsafe fn land(&mut self, words: usize) {
        // Pairs with the Acquire of a reader of a word that lands now: what landed before is visible to that reader.
        fence(Ordering::Release);
        for _ in 0..words {
            let Some(word) = self.left.pop() else { return };
            // SAFETY: the caller's.
            unsafe { self.store(word) };
        }
    }

    /// Writes the part of a word of memory that there is; at once, if it is the whole word.
    ///
    /// # Safety
    /// As for `land`.
    unsafe fn store(&self, word: u32) {
        let begin = (self.address / 8 + u64::from(word)) * 8;
        let from = begin.max(self.address);
        let to = (begin + 8).min(self.address + self.length());
        let bytes = &self.bytes[(from - self.address) as usize..(to - self.address) as usize];
        if let Ok(whole) = bytes.try_into() {
            // SAFETY: mapped, by the caller; a multiple of 8.
            unsafe { AtomicU64::from_ptr(begin as *mut u64) }
                .store(u64::from_ne_bytes(whole), Ordering::Relaxed);
            return;
        }
        for (at, byte) in (from..).zip(bytes) {
            // SAFETY: mapped, by the caller.
            unsafe { AtomicU8::from_ptr(at as *mut u8) }.store(*byte, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_land_whole_at_any_alignment_and_touch_nothing_beside_them() {
        let mut random = Rng::with_seed(7);
        for (skip, length) in [(0, 8), (3, 2), (3, 5), (3, 6), (5, 40), (8, 0), (1, 63)] {
            let mut memory = [0_u64; 16];
            let begin = memory.as_mut_ptr() as u64;
            let bytes: Vec<u8> = (1..=length).collect();
            let mut landing = Landing::new(0, begin + skip, bytes.clone(), &mut random, false);
            while !landing.is_done() {
                // SAFETY: memory of this test.
                unsafe { landing.land(2) };
            }
            let after: Vec<u8> = memory.iter().flat_map(|word| word.to_ne_bytes()).collect();
            let (skip, length) = (skip as usize, length as usize);
            assert_eq!(after[skip..skip + length], bytes);
            assert!(after[..skip].iter().chain(&after[skip + length..]).all(|byte| *byte == 0));
        }
    }

    #[test]
    fn the_last_word_of_a_message_often_lands_before_the_first() {
        let mut random = Rng::with_seed(1);
        let overtaken = |random: &mut Rng| {
            let mut memory = [0_u64; 4];
            let mut landing = Landing::new(0, memory.as_mut_ptr() as u64, vec![1; 32], random, false);
            loop {
                // SAFETY: memory of this test.
                unsafe { landing.land(1) };
                if memory[0] != 0 || memory[3] != 0 {
                    return memory[0] == 0;
                }
            }
        };
        let count = (0..100).filter(|_| overtaken(&mut random)).count();
        assert!((20..80).contains(&count), "{count}");
    }
}
