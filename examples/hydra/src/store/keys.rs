//! Keys themselves: listing them, moving them, what they are.

use crate::protocol::number;
use crate::protocol::reply::Replies;
use crate::store::entry::Entry;
use crate::store::eviction::random;
use crate::store::{Shard, glob, now};

/// Values up to this length have an encoding of their own in redis.
const LONGEST_EMBEDDED: usize = 44;

impl Shard {
    pub fn type_of(&mut self, key: &[u8], to: &mut Replies<'_>) {
        let is_there = self.find(key).is_some();
        to.simple(if is_there { "string" } else { "none" });
    }

    pub fn encoding_of(&mut self, key: &[u8], to: &mut Replies<'_>) {
        let Some(slot) = self.find(key) else { return to.null() };
        let value = self.table.at(slot).value();
        to.bulk(match number::parse(value) {
            Some(_) => b"int",
            None if value.len() <= LONGEST_EMBEDDED => b"embstr",
            None => b"raw",
        });
    }

    pub fn references_of(&mut self, key: &[u8], to: &mut Replies<'_>) {
        if self.find(key).is_some() { to.integer(1) } else { to.null() }
    }

    /// Takes a key out; replies with when it expires, or 0, and its value; with nothing if it is not there.
    pub fn take(&mut self, key: &[u8], to: &mut Replies<'_>) {
        let Some(slot) = self.find(key) else { return };
        let entry = self.remove(slot);
        to.raw(&entry.expiry().unwrap_or(0).to_le_bytes());
        to.raw(entry.value());
    }

    /// Puts what was taken under a key.
    pub fn put_taken(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) {
        let (key, taken) = (arguments[0], arguments[1]);
        if let Some((expiry, value)) = taken.split_first_chunk() {
            let expiry = Some(u64::from_le_bytes(*expiry)).filter(|expiry| *expiry != 0);
            let slot = self.table.find(key);
            self.put(slot, key, value, expiry);
        }
        to.ok();
    }

    /// Replies with the keys that match a pattern, without the head of an array, since other shards have more.
    pub fn keys(&mut self, pattern: &[u8], to: &mut Replies<'_>) {
        let (now, mut count) = (now(), 0_u64);
        let mut found = Vec::new();
        let mut keys = Replies::new(&mut found, false);
        for entry in self.table.iter().filter(|entry| is_live(entry, now)) {
            if pattern == b"*" || glob::matches(pattern, entry.key()) {
                keys.bulk(entry.key());
                count += 1;
            }
        }
        to.raw(&count.to_le_bytes());
        to.raw(&found);
    }

    /// As `keys`, of entries from a place on, before them the next place, or all ones at the end.
    pub fn scan(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) {
        let &[place, count, pattern] = arguments else { return };
        let numbers = number::parse(place).zip(number::parse(count)).unwrap_or_default();
        let (entries, next) = self.table.entries_from(numbers.0 as u64, numbers.1 as usize);
        let now = now();
        let is_wanted =
            |entry: &&&Entry| is_live(entry, now) && (pattern == b"*" || glob::matches(pattern, entry.key()));
        let entries: Vec<_> = entries.iter().filter(is_wanted).collect();
        to.raw(&next.unwrap_or(u64::MAX).to_le_bytes());
        to.raw(&(entries.len() as u64).to_le_bytes());
        entries.iter().for_each(|entry| to.bulk(entry.key()));
    }

    pub fn random_key(&mut self, to: &mut Replies<'_>) {
        while let Some(slot) = self.table.any(random()) {
            if is_live(self.table.at(slot), now()) {
                return to.bulk(self.table.at(slot).key());
            }
            self.counts.expired += 1;
            self.remove(slot);
        }
        to.null();
    }
}

fn is_live(entry: &Entry, now: u64) -> bool {
    entry.expiry().is_none_or(|expiry| expiry > now)
}
