//! The entries of a shard, in segments. Each segment grows separately, so that none takes long to grow, and a scan or a
//! snapshot goes from one to the next.

use crate::store::entry::Entry;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::hash::BuildHasher;

/// As many segments as the upper bits of an entry's place can tell apart.
pub const SEGMENTS: usize = 1 << SEGMENT_BITS;
const SEGMENT_BITS: u32 = 10;
/// How many bits the place of an entry in a scan has.
pub const PLACE_BITS: u32 = 48;
/// What an entry takes in its segment: its own 16 bytes, and one of control, in a table that is about half full.
pub const SLOT: usize = 34;

/// Keys whose lines are fetched at once: about as many as a processor can wait for.
pub const FETCHED: usize = 16;

pub struct Table {
    segments: Vec<HashTable<Entry>>,
    hasher: RandomState,
    length: usize,
    /// Bytes that entries take, besides the tables.
    memory: usize,
    /// How many entries expire.
    expiring: usize,
    /// When entries expire, with the hashes of their keys. Entries that no longer expire stay in it until their time
    /// comes, or until there are too many.
    expiries: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Default for Table {
    fn default() -> Self {
        Self {
            segments: (0..SEGMENTS).map(|_| HashTable::new()).collect(),
            hasher: RandomState::default(),
            length: 0,
            memory: 0,
            expiring: 0,
            expiries: BinaryHeap::new(),
        }
    }
}

/// Where an entry is: valid until the table changes.
#[derive(Clone, Copy)]
pub struct Slot {
    segment: usize,
    bucket: usize,
}

/// The place of a hash in a scan: bits that are neither the lowest, which the tables use, nor the tables' tags.
#[inline]
fn place_of(hash: u64) -> u64 {
    hash << 8 >> (u64::BITS - PLACE_BITS)
}

#[inline]
fn segment_of(hash: u64) -> usize {
    (place_of(hash) >> (PLACE_BITS - SEGMENT_BITS)) as usize
}

impl Table {
    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    #[inline]
    pub fn find(&self, key: &[u8]) -> Option<Slot> {
        let hash = self.hash(key);
        let segment = segment_of(hash);
        let bucket = self.segments[segment].find_bucket_index(hash, |entry| entry.key() == key)?;
        Some(Slot { segment, bucket })
    }

    /// Reads what looking up some keys reads, step by step for all of them, but waits for none of it: so the processor
    /// fetches the lines of all of them at once, and they are in its cache when the keys are looked up. It looks ahead
    /// by so many instructions only, so each step is short.
    pub fn fetch<'a>(&self, keys: impl Iterator<Item = &'a [u8]>) {
        let (mut hashes, mut entries) = ([0; FETCHED], [None; FETCHED]);
        let mut count = 0;
        for (key, hash) in keys.zip(&mut hashes) {
            *hash = self.hash(key);
            count += 1;
        }
        for (hash, entry) in hashes[..count].iter().zip(&mut entries) {
            // Nearly always the right one.
            *entry = self.segments[segment_of(*hash)].find(*hash, |entry| {
                entry.fetch();
                true
            });
        }
        entries.iter().flatten().for_each(|entry| entry.fetch_ends());
    }

    /// The entry of a slot that was found.
    ///
    /// # Panics
    /// If the table has changed since.
    #[inline]
    pub fn at(&self, slot: Slot) -> &Entry {
        match self.segments[slot.segment].get_bucket(slot.bucket) {
            Some(entry) => entry,
            None => stale(),
        }
    }

    /// Changes an entry.
    ///
    /// # Panics
    /// As [`at`](Self::at).
    #[inline]
    pub fn change<U>(&mut self, slot: Slot, change: impl FnOnce(&mut Entry) -> U) -> U {
        let Some(entry) = self.segments[slot.segment].get_bucket_mut(slot.bucket) else { stale() };
        let (memory, expiry) = (entry.memory(), entry.expiry());
        let changed = change(entry);
        self.memory = self.memory - memory + entry.memory();
        let now = entry.expiry();
        if expiry != now {
            let hash = self.hasher.hash_one(entry.key());
            self.expiring = self.expiring + usize::from(now.is_some()) - usize::from(expiry.is_some());
            self.note_expiry(now, hash);
        }
        changed
    }

    /// Notes that an entry was used.
    #[inline]
    pub fn set_usage(&mut self, slot: Slot, usage: u32) {
        if let Some(entry) = self.segments[slot.segment].get_bucket_mut(slot.bucket) {
            entry.set_usage(usage);
        }
    }

    /// Adds an entry whose key is not there.
    pub fn insert(&mut self, entry: Entry) -> Slot {
        let hash = self.hash(entry.key());
        let segment = segment_of(hash);
        self.length += 1;
        self.memory += entry.memory();
        let expiry = entry.expiry();
        self.expiring += usize::from(expiry.is_some());
        let hasher = &self.hasher;
        let put = self.segments[segment].insert_unique(hash, entry, |entry| hasher.hash_one(entry.key()));
        let bucket = put.bucket_index();
        self.note_expiry(expiry, hash);
        Slot { segment, bucket }
    }

    /// Takes an entry out.
    ///
    /// # Panics
    /// As [`at`](Self::at).
    pub fn remove(&mut self, slot: Slot) -> Entry {
        let Ok(found) = self.segments[slot.segment].get_bucket_entry(slot.bucket) else { stale() };
        let entry = found.remove().0;
        self.length -= 1;
        self.memory -= entry.memory();
        self.expiring -= usize::from(entry.expiry().is_some());
        self.limit_stale_expiries();
        entry
    }

    pub fn clear(&mut self) {
        let hasher = self.hasher.clone();
        *self = Self { hasher, ..Self::default() };
    }

    pub fn length(&self) -> usize {
        self.length
    }

    pub fn expiring(&self) -> usize {
        self.expiring
    }

    /// Bytes of memory, roughly.
    pub fn memory(&self) -> usize {
        self.memory + SLOT * self.length + 16 * self.expiries.len()
    }

    pub fn segment(&self, segment: usize) -> impl Iterator<Item = &Entry> {
        self.segments[segment].iter()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.segments.iter().flatten()
    }

    /// The segment of a key.
    pub fn segment_of(&self, key: &[u8]) -> usize {
        segment_of(self.hash(key))
    }

    pub fn segment_at(slot: Slot) -> usize {
        slot.segment
    }

    /// The entries from a place on, at least this many if there are as many, and the place after them; nothing at the
    /// end. An entry that exists from the beginning of a scan to its end is visited, because its place depends only on
    /// its key.
    pub fn entries_from(&self, place: u64, count: usize) -> (Vec<&Entry>, Option<u64>) {
        let (mut found, mut place) = (Vec::new(), place);
        while found.len() < count && place < 1 << PLACE_BITS {
            let segment = (place >> (PLACE_BITS - SEGMENT_BITS)) as usize;
            let mut rest: Vec<_> = self.segments[segment]
                .iter()
                .map(|entry| (place_of(self.hash(entry.key())), entry))
                .filter(|(other, _)| *other >= place)
                .collect();
            rest.sort_unstable_by_key(|(place, _)| *place);
            place = (segment as u64 + 1) << (PLACE_BITS - SEGMENT_BITS);
            for (index, (own, entry)) in rest.iter().enumerate() {
                found.push(*entry);
                // All entries of a place are visited together.
                if found.len() >= count && rest.get(index + 1).is_some_and(|(next, _)| next != own) {
                    return (found, Some(own + 1));
                }
            }
        }
        (found, Some(place).filter(|place| *place < 1 << PLACE_BITS))
    }

    /// The entry that a random number picks; nothing if there are no entries.
    pub fn any(&self, random: u64) -> Option<Slot> {
        if self.length == 0 {
            return None;
        }
        let first = random as usize % SEGMENTS;
        let segment =
            (0..SEGMENTS).map(|step| (first + step) % SEGMENTS).find(|at| !self.segments[*at].is_empty())?;
        let buckets = self.segments[segment].num_buckets();
        let first = (random >> 32) as usize % buckets;
        let is_full = |bucket: &usize| self.segments[segment].get_bucket(*bucket).is_some();
        let bucket = (0..buckets).map(|step| (first + step) % buckets).find(is_full)?;
        Some(Slot { segment, bucket })
    }

    /// The entry that a random number picks among those that expire.
    pub fn any_expiring(&self, random: u64) -> Option<Slot> {
        if self.expiring == 0 {
            return None;
        }
        let expiries = self.expiries.as_slice();
        let first = random as usize % expiries.len();
        (0..expiries.len()).find_map(|step| self.expiring_at(expiries[(first + step) % expiries.len()].0))
    }

    /// The next entry to expire, if its time has come.
    pub fn due(&mut self, now: u64) -> Option<Slot> {
        while let Some(Reverse(next)) = self.expiries.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            if let Some(slot) = self.expiring_at(next) {
                return Some(slot);
            }
            self.expiries.pop();
        }
        None
    }

    /// When the next entry may expire.
    pub fn next_expiry(&self) -> Option<u64> {
        self.expiries.peek().map(|Reverse((at, _))| *at)
    }

    fn expiring_at(&self, (at, hash): (u64, u64)) -> Option<Slot> {
        let segment = segment_of(hash);
        let is_it = |entry: &Entry| entry.expiry() == Some(at) && self.hash(entry.key()) == hash;
        let bucket = self.segments[segment].find_bucket_index(hash, is_it)?;
        Some(Slot { segment, bucket })
    }

    fn note_expiry(&mut self, expiry: Option<u64>, hash: u64) {
        if let Some(expiry) = expiry {
            self.expiries.push(Reverse((expiry, hash)));
        }
        self.limit_stale_expiries();
    }

    /// To be called whenever an entry may have ceased to expire: what is left of it counts as memory.
    #[inline]
    fn limit_stale_expiries(&mut self) {
        if self.expiries.len() > 2 * self.expiring + 64 {
            self.forget_stale_expiries();
        }
    }

    /// This looks at what expires only: there may be many more entries that do not. An entry that came twice with the
    /// same time is kept once.
    #[cold]
    fn forget_stale_expiries(&mut self) {
        let mut expiries = std::mem::take(&mut self.expiries).into_vec();
        expiries.sort_unstable();
        expiries.dedup();
        expiries.retain(|Reverse(expiry)| self.expiring_at(*expiry).is_some());
        expiries.shrink_to_fit();
        self.expiries = expiries.into();
    }
}

#[cold]
fn stale() -> ! {
    panic!("a slot of a table that was changed")
}
