//! Keys themselves: listing them, moving them, what they are.

use crate::protocol::number;
use crate::protocol::reply::Replies;
use crate::store::entry::Entry;
use crate::store::eviction::random;
use crate::store::snapshot::{Encoded, VERSION, encode, entries};
use crate::store::table::SLOT;
use crate::store::value::{Kind, decode, encoding};
use crate::store::{Shard, glob};

/// Values up to this length have an encoding of their own in redis.
const LONGEST_EMBEDDED: usize = 44;

impl Shard {
    pub fn type_of(&mut self, key: &[u8], to: &mut Replies<'_>) {
        let found = self.find(key);
        to.simple(found.map_or("none", |slot| self.database.table.at(slot).kind().name()));
    }

    pub fn encoding_of(&mut self, key: &[u8], to: &mut Replies<'_>) {
        let Some(slot) = self.find(key) else { return to.null() };
        let entry = self.database.table.at(slot);
        to.bulk(match entry.string() {
            Err(_) => encoding(entry).as_bytes(),
            Ok(string) if number::parse(string).is_some() => b"int",
            Ok(string) if string.len() <= LONGEST_EMBEDDED => b"embstr",
            Ok(_) => b"raw",
        });
    }

    pub fn references_of(&mut self, key: &[u8], to: &mut Replies<'_>) {
        if self.find(key).is_some() { to.integer(1) } else { to.null() }
    }

    /// Bytes of a key with its value, and of its place in the table.
    pub fn memory_of(&mut self, key: &[u8], to: &mut Replies<'_>) {
        match self.find(key) {
            Some(slot) => to.length(self.database.table.at(slot).memory() + SLOT),
            None => to.null(),
        }
    }

    /// Takes a key out; replies with its entry, encoded, or with nothing if there is none.
    pub fn take(&mut self, key: &[u8], to: &mut Replies<'_>) {
        self.fetch(key, to);
        if let Some(slot) = self.database.table.find(key) {
            self.remove(slot);
        }
    }

    /// As `take`, but leaves the key where it is.
    pub fn fetch(&mut self, key: &[u8], to: &mut Replies<'_>) {
        if let Some(slot) = self.find_to_read(key) {
            encode(self.database.table.at(slot), to.bytes());
        }
    }

    /// Stores an encoded entry under a key, in place of what is there.
    pub fn put_taken(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) {
        let (key, taken) = (arguments[0], arguments[1]);
        if let Some(encoded) = entries(taken, VERSION).flatten().next() {
            self.put_encoded(key, &encoded, encoded.expiry);
        }
        to.ok();
    }

    pub fn put_encoded(&mut self, key: &[u8], encoded: &Encoded<'_>, expiry: Option<u64>) {
        let entry = decode(key, encoded.kind, encoded.value, expiry, &self.encodings);
        if let Some(entry) = entry {
            if let Some(slot) = self.database.table.find(key) {
                self.remove(slot);
            }
            self.insert(entry);
        }
    }

    /// Makes an entry from a value that a command with several keys has made: it has its type, and no expiry. There is
    /// no entry if the value has no elements.
    pub fn store(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) {
        let &[key, kind, value] = arguments else { return };
        let kind = kind.first().and_then(|kind| Kind::decode(*kind)).unwrap_or(Kind::String);
        if let Some(slot) = self.find(key) {
            self.remove(slot);
        }
        if !value.is_empty() {
            self.put_encoded(key, &Encoded { kind, key, value, expiry: None }, None);
        }
        to.ok();
    }

    /// Gives a key of a database a string, in place of what is there; none if it is empty. The shard is held for this.
    pub fn store_string(&mut self, (database, key, string): (u16, Vec<u8>, Vec<u8>)) {
        self.select(database);
        if let Some(slot) = self.find(&key) {
            self.remove(slot);
        }
        if !string.is_empty() {
            self.insert(Entry::of_string(&key, string));
        }
    }

    /// Replies with the keys that match a pattern, without the head of an array, because other shards have more.
    pub fn keys(&mut self, pattern: &[u8], to: &mut Replies<'_>) {
        let (now, mut count) = (self.now(), 0_u64);
        let mut found = Vec::new();
        let mut keys = Replies::new(&mut found, false);
        for entry in self.database.table.iter().filter(|entry| is_live(entry, now)) {
            if glob::is_all(pattern) || glob::matches(pattern, entry.key()) {
                keys.bulk(entry.key());
                count += 1;
            }
        }
        to.raw(&count.to_le_bytes());
        to.raw(&found);
    }

    /// As `keys`, for the entries from a place on; the first reply is the next place, or all ones at the end.
    pub fn scan(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) {
        let &[place, count, pattern, kind] = arguments else { return };
        let is_of_kind = |entry: &Entry| kind.is_empty() || entry.kind().name().as_bytes() == kind;
        let numbers = number::parse(place).zip(number::parse(count)).unwrap_or_default();
        let (entries, next) = self.database.table.entries_from(numbers.0 as u64, numbers.1 as usize);
        let now = self.now();
        let is_wanted = |entry: &&&Entry| {
            is_live(entry, now)
                && is_of_kind(entry)
                && (glob::is_all(pattern) || glob::matches(pattern, entry.key()))
        };
        let entries: Vec<_> = entries.iter().filter(is_wanted).collect();
        to.raw(&next.unwrap_or(u64::MAX).to_le_bytes());
        to.raw(&(entries.len() as u64).to_le_bytes());
        entries.iter().for_each(|entry| to.bulk(entry.key()));
    }

    pub fn random_key(&mut self, to: &mut Replies<'_>) {
        while let Some(slot) = self.database.table.any(random()) {
            if is_live(self.database.table.at(slot), self.now()) {
                return to.bulk(self.database.table.at(slot).key());
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
