//! How the tables of [`Entries`] grow: buckets are split, and their tables are rebuilt.
//!
//! Both hash keys, which is code of the program and may panic: all of that comes first, so that no entry is lost.

use crate::collections::dist_map::entries::{Bucket, Entries, MOST, in_table};
use hashbrown::HashTable;
use std::hash::Hash;

/// The directory may become this many times as long as the list of buckets: equal hashes would make it grow without
/// end.
const LONGEST_DIRECTORY: usize = 8;

/// Whether a table has room for another entry only in places of entries that were removed. For the next one it would
/// hash its keys again in place, and lose entries if that panics.
#[inline]
pub(super) fn has_removed_only<T>(table: &HashTable<T>) -> bool {
    // If more is in use, it moves to a larger table, and stays as it is if that panics.
    table.len() == table.capacity() && table.len() < table.num_buckets() / 2
}

impl<K: Hash + Eq, V> Entries<K, V> {
    /// Otherwise its table grows.
    pub(super) fn may_split(&self, bucket: usize) -> bool {
        let is_listed_once = 1 << self.buckets[bucket].common_bits == self.directory.len();
        !is_listed_once || self.directory.len() < LONGEST_DIRECTORY * self.buckets.len()
    }

    /// Splits a bucket into two by one more bit of the hashes.
    #[cold]
    #[inline(never)]
    pub(super) fn split(&mut self, bucket: usize) {
        let Bucket { table, common_bits } = &mut self.buckets[bucket];
        let bit = 1 << *common_bits;
        let hashes: Vec<u64> = table.iter().map(|(key, _)| self.hashing.hash(key)).collect();
        let moved = hashes.iter().filter(|hash| *hash & bit != 0).count();
        // All tables have one size, so that the allocator can reuse the memory of a dropped one.
        let with_room = |count: usize| HashTable::with_capacity(if count > 0 { count.max(MOST) } else { 0 });
        let (mut stays, mut goes) = (with_room(hashes.len() - moved), with_room(moved));
        let first = hashes.first().map_or(0, |hash| (hash & (bit - 1)) as usize);
        for (entry, hash) in std::mem::take(table).into_iter().zip(hashes) {
            let table = if hash & bit == 0 { &mut stays } else { &mut goes };
            // There is room, so nothing is rehashed.
            table.insert_unique(in_table(hash), entry, |_| hash);
        }
        *common_bits += 1;
        let common_bits = *common_bits;
        *table = stays;
        if bit as usize == self.directory.len() {
            self.directory.extend_from_within(..);
        }
        let number = self.buckets.len() as u32;
        let own = self.directory.iter_mut().skip(first + bit as usize).step_by(2 * bit as usize);
        own.for_each(|bucket| *bucket = number);
        self.buckets.push(Bucket { table: goes, common_bits });
    }

    /// Puts the entries of a bucket into another table of the same size.
    #[cold]
    #[inline(never)]
    pub(super) fn rebuild(&mut self, bucket: usize) {
        let table = &mut self.buckets[bucket].table;
        let hashes: Vec<u64> = table.iter().map(|(key, _)| self.hashing.hash(key)).collect();
        let mut rebuilt = HashTable::with_capacity(table.num_buckets() / 2 + 1);
        for (entry, hash) in std::mem::take(table).into_iter().zip(hashes) {
            rebuilt.insert_unique(in_table(hash), entry, |_| hash);
        }
        *table = rebuilt;
    }
}
