//! [`Entries`]: what one worker has of a map.

mod growth;

use crate::collections::dist_map::hashing::Hashing;
use crate::sys::memory::prefetch;
use growth::has_removed_only;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;

/// Entries that a bucket holds before it is split: as many as fit a table of 4096 places.
const MOST: usize = 3584;
/// Lines that are fetched of what an entry owns: keys that are texts have fewer.
const OWNED_LINES: usize = 4;

/// The entries of a [`DistMap`](crate::collections::DistMap) on one worker: what a closure gets that is applied to a
/// whole part.
///
/// They are in no particular order. Keys are added and removed by the methods of the map, which know the worker of
/// each key.
///
/// # Memory
/// That of a `HashMap`. A growing part moves some thousands of entries at a time, never all of them: extendible
/// hashing (Fagin, Nievergelt, Pippenger and Strong, 1979), whose buckets are tables of `hashbrown`. So no request is
/// slow because a table has to grow, and there are never two tables with all entries.
pub struct Entries<K, V> {
    /// The bucket of the entries whose hashes have these lower bits. The length is a power of two.
    directory: Vec<u32>,
    buckets: Vec<Bucket<K, V>>,
    len: usize,
    hashing: Hashing,
}

struct Bucket<K, V> {
    table: HashTable<(K, V)>,
    /// How many lower bits of their hashes the entries have in common.
    common_bits: u32,
}

impl<K, V> Entries<K, V> {
    pub(super) fn new(hashing: Hashing) -> Self {
        let bucket = Bucket { table: HashTable::new(), common_bits: 0 };
        Self { directory: vec![0], buckets: vec![bucket], len: 0, hashing }
    }

    /// The number of entries.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// (0..5_u64).for_each(|key| drop(squares.insert(key, key * key)));
    /// assert_eq!(squares.map_all(|own| own.len()).iter().sum::<usize>(), 5);
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no entries.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// let idle = squares.map_all(|own| own.is_empty());
    /// assert_eq!(idle.iter().filter(|is_empty| **is_empty).count(), 1); // the other has the entry
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All entries, in no particular order.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// (0..5_u64).for_each(|key| drop(squares.insert(key, key * key)));
    /// let sums = squares.map_all(|own| own.iter().map(|(_, square)| square).sum::<u64>());
    /// assert_eq!(sums.iter().sum::<u64>(), 30);
    /// # });
    /// ```
    pub fn iter(&self) -> impl Iterator<Item = (&K, &V)> + Clone {
        self.buckets.iter().flat_map(|bucket| &bucket.table).map(|(key, value)| (key, value))
    }

    /// Like [`iter`](Self::iter), with mutable values.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// (0..5_u64).for_each(|key| drop(squares.insert(key, key * key)));
    /// squares.map_all(|own| own.iter_mut().for_each(|(key, square)| *square += key));
    /// assert_eq!(squares.get(4), Some(20));
    /// # });
    /// ```
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        self.buckets.iter_mut().flat_map(|bucket| &mut bucket.table).map(|(key, value)| (&*key, value))
    }

    /// Like [`len`](Self::len), as a closure is delegated.
    pub(super) fn len_of(&mut self) -> usize {
        self.len
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new(self.hashing);
    }

    /// The bucket of a hash.
    #[inline(always)]
    fn bucket_of(&self, hash: u64) -> usize {
        self.directory[hash as usize & (self.directory.len() - 1)] as usize
    }

    /// The next bucket after those whose hashes, read from the lowest bit, are less than `position`, and the position
    /// after it. Splitting a bucket changes neither, so a walk from position to position meets each entry that is
    /// there all the time once, whatever else is added or removed.
    fn bucket_at(&self, position: u64) -> (usize, Option<u64>) {
        let bucket = self.bucket_of(position.reverse_bits());
        let width = 1_u64.checked_shl(u64::BITS - self.buckets[bucket].common_bits);
        (bucket, width.and_then(|width| position.checked_add(width)))
    }

    /// The entries at a position, and the next position.
    pub(in crate::collections) fn at_mut(&mut self, position: u64) -> (&mut HashTable<(K, V)>, Option<u64>) {
        let (bucket, next) = self.bucket_at(position);
        (&mut self.buckets[bucket].table, next)
    }

    /// Like [`at_mut`](Self::at_mut), for the next bucket that is not empty.
    pub(super) fn some_at(&self, mut position: u64) -> Option<(usize, Option<u64>)> {
        loop {
            let (bucket, next) = self.bucket_at(position);
            if !self.buckets[bucket].table.is_empty() {
                return Some((bucket, next));
            }
            position = next?;
        }
    }

    pub(super) fn bucket(&self, bucket: usize) -> &HashTable<(K, V)> {
        &self.buckets[bucket].table
    }

    /// Empties a bucket.
    pub(super) fn take(&mut self, bucket: usize) -> HashTable<(K, V)> {
        let taken = std::mem::take(&mut self.buckets[bucket].table);
        self.len -= taken.len();
        taken
    }

    /// Removes the entries of a bucket for which a closure returns false; returns the next position.
    pub(super) fn retain_at(
        &mut self,
        position: u64,
        mut keep: impl FnMut(&K, &mut V) -> bool,
    ) -> Option<u64> {
        let (bucket, next) = self.bucket_at(position);
        let (table, len) = (&mut self.buckets[bucket].table, &mut self.len);
        let is_removed = |(key, value): &mut (K, V)| !keep(key, value);
        // One by one, so that the length is right if the closure panics.
        table.extract_if(is_removed).for_each(|_| *len -= 1);
        next
    }
}

impl<K: Hash + Eq, V> Entries<K, V> {
    /// The value of a key, if it is here.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// (0..5_u64).for_each(|key| drop(squares.insert(key, key * key)));
    /// let found: Vec<_> = squares.map_all(|own| own.get(&4).copied()).into_iter().flatten().collect();
    /// assert_eq!(found, [16]); // one worker has it
    /// # });
    /// ```
    pub fn get<Q: Hash + Eq + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.find(self.hashing.hash(key), key)
    }

    /// Like [`get`](Self::get), for a mutable value.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let stock = DistMap::new();
    /// ["tea", "milk"].map(|name| stock.insert(name.to_owned(), 10_u64));
    /// let sell = |own: &mut gossamer::collections::Entries<String, u64>| {
    ///     for name in ["tea", "milk", "sugar"] {
    ///         if let Some(left) = own.get_mut(name) {
    ///             *left -= 1; // each worker, of those that it has
    ///         }
    ///     }
    /// };
    /// stock.map_all(sell);
    /// assert_eq!((stock.get("tea".to_owned()), stock.get("sugar".to_owned())), (Some(9), None));
    /// # });
    /// ```
    pub fn get_mut<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        self.find_mut(self.hashing.hash(key), key)
    }

    pub(super) fn find<Q: Eq + ?Sized>(&self, hash: u64, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let table = &self.buckets[self.bucket_of(hash)].table;
        table.find(in_table(hash), |(there, _)| there.borrow() == key).map(|(_, value)| value)
    }

    /// Has the processor fetch the places of entries that may have this hash.
    #[inline]
    pub(super) fn fetch(&self, hash: u64) {
        let table = &self.buckets[self.bucket_of(hash)].table;
        table.find(in_table(hash), |entry| {
            prefetch::write(entry);
            false
        });
    }

    /// Has the processor fetch what those entries own, once they have been fetched.
    #[inline]
    pub(super) fn fetch_owned(&self, hash: u64) {
        let table = &self.buckets[self.bucket_of(hash)].table;
        table.find(in_table(hash), |entry| {
            prefetch::owned_by(entry, OWNED_LINES);
            false
        });
    }

    #[inline]
    pub(super) fn find_mut<Q: Eq + ?Sized>(&mut self, hash: u64, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let bucket = self.bucket_of(hash);
        let found = self.buckets[bucket].table.find_mut(in_table(hash), |(there, _)| there.borrow() == key);
        found.map(|(_, value)| value)
    }

    pub(in crate::collections) fn remove(&mut self, hash: u64, key: &K) -> Option<V> {
        let bucket = self.bucket_of(hash);
        let found = self.buckets[bucket].table.find_entry(in_table(hash), |(there, _)| there == key).ok()?;
        self.len -= 1; // before the key is dropped, which may panic
        let ((_, value), _) = found.remove();
        Some(value)
    }

    /// The value of a key. A missing key gets `value`; otherwise `value` is returned.
    #[inline]
    pub(in crate::collections) fn entry(&mut self, hash: u64, key: K, value: V) -> (&mut V, Option<V>) {
        let (entry, len) = self.place(hash, &key);
        match entry {
            Entry::Occupied(found) => (&mut found.into_mut().1, Some(value)),
            Entry::Vacant(place) => {
                *len += 1;
                (&mut place.insert((key, value)).into_mut().1, None)
            }
        }
    }

    /// The value of a key; a missing key gets one from `make`.
    #[inline]
    pub(super) fn or_insert_with(&mut self, hash: u64, key: K, make: impl FnOnce() -> V) -> &mut V {
        let (entry, len) = self.place(hash, &key);
        match entry {
            Entry::Occupied(found) => &mut found.into_mut().1,
            Entry::Vacant(place) => {
                let value = make();
                *len += 1;
                &mut place.insert((key, value)).into_mut().1
            }
        }
    }

    /// Where a key is or belongs, and the number of entries, to be increased by an insertion.
    #[inline]
    fn place(&mut self, hash: u64, key: &K) -> (Entry<'_, (K, V)>, &mut usize) {
        let mut bucket = self.bucket_of(hash);
        if self.buckets[bucket].table.len() >= MOST && self.may_split(bucket) {
            self.split(bucket);
            bucket = self.bucket_of(hash);
        }
        if has_removed_only(&self.buckets[bucket].table) {
            self.rebuild(bucket);
        }
        let hashing = self.hashing;
        let rehash = |(key, _): &(K, V)| in_table(hashing.hash(key));
        let table = &mut self.buckets[bucket].table;
        (table.entry(in_table(hash), |(there, _)| there == key, rehash), &mut self.len)
    }
}

/// The hash by which a table of one bucket is searched. It uses the lowest and the highest bits; those of the full
/// hash are the same for all entries of a bucket and of a worker.
#[inline(always)]
pub(super) fn in_table(hash: u64) -> u64 {
    hash.rotate_right(24)
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Entries<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Entries, Hashing, MOST};

    fn filled(count: u64) -> Entries<u64, u64> {
        let hashing = Hashing::random();
        let mut entries = Entries::new(hashing);
        for key in 0..count {
            assert_eq!(entries.entry(hashing.hash(&key), key, key * 2), (&mut (key * 2), None));
        }
        entries
    }

    /// Enough for several buckets.
    const MANY: u64 = 6 * MOST as u64;

    #[test]
    fn each_entry_is_found_however_many_buckets_there_are() {
        let mut entries = filled(MANY);
        assert!((7..=16).contains(&entries.buckets.len()), "{}", entries.buckets.len());
        assert_eq!((entries.len(), entries.iter().count()), (MANY as usize, MANY as usize));
        assert!((0..MANY).all(|key| entries.get(&key) == Some(&(key * 2))));
        let hash = entries.hashing.hash(&7_u64);
        assert_eq!((entries.remove(hash, &7), entries.remove(hash, &7)), (Some(14), None));
        assert_eq!(entries.len(), MANY as usize - 1);
    }

    #[test]
    fn who_goes_from_position_to_position_meets_each_entry_once_while_buckets_split() {
        for growth in [0, 1, 700, 5000] {
            let mut entries = filled(MANY);
            let (mut position, mut met, mut next) = (Some(0), Vec::new(), MANY);
            while let Some(at) = position {
                let (table, behind) = entries.at_mut(at);
                met.extend(table.iter().map(|(key, _)| *key).filter(|key| *key < MANY));
                position = behind;
                for key in next..next + growth {
                    entries.entry(entries.hashing.hash(&key), key, 0);
                }
                next += growth;
            }
            met.sort_unstable();
            assert!(met.into_iter().eq(0..MANY), "with {growth} more each time");
        }
    }

    #[test]
    fn equal_hashes_make_neither_many_buckets_nor_a_long_directory() {
        let mut entries = Entries::new(Hashing::random());
        for key in 0..MANY {
            entries.entry(if key % 2 == 0 { 0 } else { 1 << 63 }, key, ());
        }
        assert_eq!(entries.len(), MANY as usize);
        assert!(entries.buckets.len() < 10 && entries.directory.len() < 100);
    }
}
