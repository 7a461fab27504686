//! The part of the store that one worker has.

pub mod batch;
mod bitfields;
mod bits;
mod counters;
mod databases;
mod elements;
pub mod entry;
pub mod eviction;
pub mod expiry;
pub mod glob;
mod hash_counters;
mod hashes;
mod keys;
mod lists;
pub mod operation;
pub mod pops;
mod random_elements;
pub mod ranges;
mod scans;
mod sets;
pub mod snapshot;
mod sorted_bounds;
pub mod sorted_ranges;
mod sorted_sets;
mod strings;
mod table;
pub mod value;
pub mod waiting;
mod watches;

use databases::{Database, Others};
use entry::Entry;
use eviction::Eviction;
use expiry::Remover;
use std::time::{SystemTime, UNIX_EPOCH};
use table::{Slot, Table};
use value::Encodings;

/// The keys of one shard, and the clients that wait for them.
#[derive(Default)]
pub struct Shard {
    /// The current database,
    database: Database,
    /// and its number.
    selected: u16,
    others: Others,
    encodings: Encodings,
    eviction: Eviction,
    /// The transaction that holds the shard, or 0.
    held_by: u64,
    /// Since when, in milliseconds since 1970.
    held_since: u64,
    remover: Remover,
    counts: Counts,
}

/// What has happened so far, as numbers.
#[derive(Default)]
struct Counts {
    hits: u64,
    misses: u64,
    expired: u64,
    evicted: u64,
}

/// What a shard reports about itself: for sums over all shards.
pub const STATISTICS: [&str; 5] =
    ["used_memory", "keyspace_hits", "keyspace_misses", "expired_keys", "evicted_keys"];

/// Milliseconds since 1970.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

impl Shard {
    /// In the order of [`STATISTICS`].
    pub fn statistics(&mut self) -> Vec<u64> {
        let Counts { hits, misses, expired, evicted } = self.counts;
        vec![self.memory() as u64, hits, misses, expired, evicted]
    }

    /// Counts from zero again.
    pub fn reset_statistics(&mut self) {
        self.counts = Counts::default();
    }

    /// Milliseconds since 1970; for a transaction the time stands still, so that nothing expires between its commands.
    #[inline]
    fn now(&self) -> u64 {
        if self.held_by == 0 { now() } else { self.held_since }
    }

    /// A key that exists and has not expired.
    #[inline]
    fn find(&mut self, key: &[u8]) -> Option<Slot> {
        let slot = self.database.table.find(key)?;
        if self.database.table.at(slot).expiry().is_some_and(|expiry| expiry <= self.now()) {
            self.counts.expired += 1;
            self.remove(slot);
            return None;
        }
        Some(slot)
    }

    /// As `find`, for a command that reads the value.
    #[inline]
    fn find_to_read(&mut self, key: &[u8]) -> Option<Slot> {
        let found = self.find(key);
        match found {
            Some(slot) => {
                self.counts.hits += 1;
                self.note_use(slot);
            }
            None => self.counts.misses += 1,
        }
        found
    }

    /// Gives a key a value.
    #[inline]
    fn put(&mut self, slot: Option<Slot>, key: &[u8], value: &[u8], expiry: Option<u64>) {
        match slot {
            Some(slot) => self.change(slot, |entry| entry.replace(value, expiry)),
            None => self.insert(Entry::new(key, value, expiry)),
        }
    }

    /// Adds a key that is not there.
    fn insert(&mut self, entry: Entry) {
        if let Some(saving) = &mut self.database.saving {
            saving.before_change(&self.database.table, self.database.table.segment_of(entry.key()));
        }
        self.database.watches.note_change(entry.key());
        self.database.waiting.note_new(entry.key());
        let slot = self.database.table.insert(entry);
        self.note_expiry(slot);
        self.note_use(slot);
    }

    /// Changes a key's value or expiry.
    #[inline]
    fn change<U>(&mut self, slot: Slot, change: impl FnOnce(&mut Entry) -> U) -> U {
        self.before_change(slot);
        let changed = self.database.table.change(slot, change);
        self.note_expiry(slot);
        self.note_use(slot);
        changed
    }

    /// As `change`, of what may leave everything as it is, and says whether it did not: that is no change to clients that
    /// watch the key.
    fn change_if<U>(&mut self, slot: Slot, change: impl FnOnce(&mut Entry) -> (U, bool)) -> U {
        self.take_for_snapshot(slot);
        let (changed, is_changed) = self.database.table.change(slot, change);
        if is_changed {
            self.note_change(slot);
        }
        self.note_use(slot);
        changed
    }

    fn remove(&mut self, slot: Slot) -> Entry {
        self.before_change(slot);
        self.database.table.remove(slot)
    }

    #[inline]
    fn before_change(&mut self, slot: Slot) {
        self.take_for_snapshot(slot);
        self.note_change(slot);
    }

    #[inline]
    fn take_for_snapshot(&mut self, slot: Slot) {
        if let Some(saving) = &mut self.database.saving {
            saving.before_change(&self.database.table, Table::segment_at(slot));
        }
    }

    #[inline]
    fn note_change(&mut self, slot: Slot) {
        if !self.database.watches.is_empty() {
            self.database.watches.note_change(self.database.table.at(slot).key());
        }
    }
}
