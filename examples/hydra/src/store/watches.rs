//! Keys that clients watch, to know whether one was changed since.

use crate::protocol::number;
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::databases::Database;
use std::collections::HashMap;

/// Only keys that somebody watches have an entry.
#[derive(Default)]
pub struct Watches {
    keys: HashMap<Box<[u8]>, Watched>,
    changes: i64,
}

struct Watched {
    watchers: usize,
    /// The number of the last change.
    changed: i64,
}

impl Watches {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn note_change(&mut self, key: &[u8]) {
        if let Some(watched) = self.keys.get_mut(key) {
            self.changes += 1;
            watched.changed = self.changes;
        }
    }

    /// Notes a change of all watched keys that are among these.
    pub fn note_changes(&mut self, are_changed: impl Fn(&[u8]) -> bool) {
        for (key, watched) in &mut self.keys {
            if are_changed(key) {
                self.changes += 1;
                watched.changed = self.changes;
            }
        }
    }
}

impl Shard {
    /// Watches a key from now on; replies with the number of its last change.
    pub fn watch(&mut self, key: &[u8], to: &mut Replies<'_>) {
        // If a key has expired already, its expiry does not count as a change.
        self.find(key);
        let changes = self.database.watches.changes;
        let watched =
            self.database.watches.keys.entry(key.into()).or_insert(Watched { watchers: 0, changed: changes });
        watched.watchers += 1;
        to.integer(watched.changed);
    }

    /// Whether the last change of a watched key is still the one with this number.
    pub fn is_unchanged(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) {
        let &[key, change] = arguments else { return to.integer(0) };
        self.find(key);
        let changed = self.database.watches.keys.get(key).map(|watched| watched.changed);
        to.integer(i64::from(changed.is_some() && changed == number::parse(change)));
    }

    pub fn unwatch(&mut self, key: &[u8], to: &mut Replies<'_>) {
        self.forget_watch(key);
        to.ok();
    }

    /// A client no longer watches these keys of databases.
    pub fn forget_watches(&mut self, keys: Vec<(u16, Vec<u8>)>) {
        let selected = self.selected;
        for (database, key) in keys {
            self.select(database);
            self.forget_watch(&key);
        }
        self.select(selected);
    }

    fn forget_watch(&mut self, key: &[u8]) {
        if let Some(watched) = self.database.watches.keys.get_mut(key) {
            watched.watchers -= 1;
            if watched.watchers == 0 {
                self.database.watches.keys.remove(key);
            }
        }
    }

    pub fn flush(&mut self, to: &mut Replies<'_>) {
        self.clear();
        to.ok();
    }

    /// Removes all keys of the database.
    pub fn clear(&mut self) {
        let Database { table, watches, saving, .. } = &mut self.database;
        if let Some(saving) = saving {
            saving.take_all(table);
        }
        watches.note_changes(|key| table.find(key).is_some());
        table.clear();
    }
}
