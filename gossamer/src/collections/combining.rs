//! Reducing what is sent: updates of one element are combined, or sent only once.

use crate::collections::filling::MOST_GATHERED;

/// More than a batch has, so that few elements share one.
const SLOTS: usize = 2 * MOST_GATHERED;

/// Where the latest updates are in the batch being gathered, by the hashes of their places: direct-mapped, like a
/// cache.
///
/// A slot may refer to a batch that is gone. The place that it names is checked, so nothing has to be cleared.
pub(super) struct Latest(Box<[u16]>);

impl Latest {
    pub(super) fn new() -> Self {
        Self(vec![0; SLOTS].into())
    }

    /// Where a place is in the batch. An unknown place is recorded as the next one.
    #[inline]
    pub(super) fn find(&mut self, offset: u32, gathered: &[u32]) -> Option<usize> {
        // Fibonacci hashing (Knuth, volume 3, section 6.4).
        let hash = offset.wrapping_mul(0x9e37_79b9) >> (u32::BITS - SLOTS.ilog2());
        let slot = &mut self.0[hash as usize];
        if gathered.get(usize::from(*slot)) == Some(&offset) {
            return Some(usize::from(*slot));
        }
        *slot = gathered.len() as u16;
        None
    }
}

/// A set of indices, with a bit for each possible one.
#[derive(Default)]
pub(super) struct IndexSet(Vec<u64>);

impl IndexSet {
    /// Whether it has an index.
    #[inline]
    pub(super) fn contains(&self, index: usize) -> bool {
        self.0.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Adds an index below `len`, and returns whether it is new.
    #[inline]
    pub(super) fn insert(&mut self, index: usize, len: usize) -> bool {
        if self.0.is_empty() {
            self.0 = vec![0; len.div_ceil(64)];
        }
        let (word, bit) = (&mut self.0[index / 64], 1 << (index % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Removes all, in order.
    pub(super) fn drain(&mut self) -> impl Iterator<Item = usize> {
        self.0.iter_mut().enumerate().flat_map(|(at, word)| {
            let mut bits = std::mem::take(word);
            std::iter::from_fn(move || {
                let bit = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(64 * at + bit)
            })
        })
    }

    /// Removes one, if it is in the set.
    pub(super) fn remove(&mut self, index: usize) {
        if let Some(word) = self.0.get_mut(index / 64) {
            *word &= !(1 << (index % 64));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{IndexSet, Latest, SLOTS};

    #[test]
    fn a_place_that_is_found_is_the_one_that_was_sought() {
        let (mut latest, mut random) = (Latest::new(), fastrand::Rng::with_seed(7));
        for _ in 0..20 {
            let mut gathered: Vec<u32> = Vec::new();
            for _ in 0..SLOTS / 2 {
                let offset = random.u32(..2000) * 0x1_0001;
                match latest.find(offset, &gathered) {
                    Some(at) => assert_eq!(gathered[at], offset),
                    None => gathered.push(offset),
                }
            }
            assert!(gathered.len() < 3000, "most are found: {}", gathered.len());
        }
    }

    #[test]
    fn an_index_is_new_once() {
        let mut set = IndexSet::default();
        set.remove(3);
        assert!(!set.contains(usize::MAX));
        for index in [0, 63, 64, 99] {
            assert!(!set.contains(index) && set.insert(index, 100));
            assert!(set.contains(index) && !set.insert(index, 100));
            set.remove(index);
            assert!(set.insert(index, 100));
        }
        set.insert(7, 100);
        assert!(set.drain().eq([0, 7, 63, 64, 99]) && set.drain().next().is_none());
    }
}
