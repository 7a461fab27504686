//! Clients that wait for a list or a sorted set: first come, first served.
//!
//! A client that waits is in a queue at each key that it waits for. When such a key appears, the first client is told,
//! and tries its command again. Those after it, and those that come meanwhile, find that it is not their turn. When the
//! client leaves its queues, because it got something, its time is up, or it has gone, the next one is told. So nothing
//! is taken out for a client that may be gone: what it does not take stays.

use crate::clients::Clients;
use crate::store::Shard;
use crate::store::table::Table;
use crate::store::value::Kind;
use gossamer::{NoRef, Trust};
use std::collections::{HashMap, VecDeque};

/// A client that waits, and where it is told that it is its turn.
#[derive(NoRef, Clone)]
pub struct Waiter {
    /// A number that no other client of any node has, and that is not 0.
    pub number: u64,
    /// The clients of its worker.
    pub clients: Trust<Clients>,
    /// The number of the client in that list.
    pub client: u64,
    /// Whether it waits for sorted sets; otherwise it waits for lists.
    pub for_sorted: bool,
}

/// The queues of a shard.
#[derive(Default)]
pub struct Waiting {
    rows: HashMap<Box<[u8]>, VecDeque<Waiter>>,
    /// Keys that have appeared and whose first waiter was not told yet.
    appeared: Vec<Box<[u8]>>,
}

impl Waiting {
    /// Notes that a key is there that was not there before.
    #[inline]
    pub fn note_new(&mut self, key: &[u8]) {
        if !self.rows.is_empty() && self.rows.contains_key(key) {
            self.appeared.push(key.into());
        }
    }

    /// Notes that all keys of a table may have appeared.
    pub fn note_all(&mut self, table: &Table) {
        let appeared = self.rows.keys().filter(|key| table.find(key).is_some()).cloned();
        self.appeared.extend(appeared);
    }

    #[inline]
    pub fn is_settled(&self) -> bool {
        self.appeared.is_empty()
    }

    fn first(&self, key: &[u8], kind: Kind) -> Option<&Waiter> {
        self.rows.get(key)?.iter().find(|waiter| waiter.for_sorted == (kind == Kind::SortedSet))
    }

    /// Whether nobody has waited longer than this client for a value of this type.
    pub fn is_turn(&self, key: &[u8], kind: Kind, number: u64) -> bool {
        self.first(key, kind).is_none_or(|first| first.number == number)
    }
}

impl Shard {
    /// A client waits for keys of this shard in a database, unless it does so already.
    pub fn wait_for(&mut self, (database, keys, waiter): (u16, Vec<Vec<u8>>, Waiter)) {
        let selected = self.selected;
        self.select(database);
        for key in keys {
            let row = self.database.waiting.rows.entry(key.clone().into_boxed_slice()).or_default();
            if row.iter().all(|other| other.number != waiter.number) {
                row.push_back(waiter.clone());
            }
            // It may have appeared since the client looked for it.
            self.give_turn(&key);
        }
        self.select(selected);
    }

    /// A client no longer waits: those after it may get what is left.
    pub fn leave(&mut self, (database, keys, number): (u16, Vec<Vec<u8>>, u64)) {
        let selected = self.selected;
        self.select(database);
        for key in keys {
            if let Some(row) = self.database.waiting.rows.get_mut(&*key) {
                row.retain(|waiter| waiter.number != number);
                if row.is_empty() {
                    self.database.waiting.rows.remove(&*key);
                } else {
                    self.database.waiting.appeared.push(key.into());
                }
            }
        }
        self.give_turns();
        self.select(selected);
    }

    /// Tells the first clients at keys that have appeared, unless a transaction is going on.
    #[inline]
    pub fn give_turns(&mut self) {
        if !self.database.waiting.is_settled() && self.held_by == 0 {
            for key in std::mem::take(&mut self.database.waiting.appeared) {
                self.give_turn(&key);
            }
        }
    }

    fn give_turn(&mut self, key: &[u8]) {
        let Some(slot) = self.database.table.find(key) else { return };
        let kind = self.database.table.at(slot).kind();
        if matches!(kind, Kind::List | Kind::SortedSet)
            && let Some(first) = self.database.waiting.first(key, kind)
        {
            // The client may have gone: then it leaves its queues, too.
            first.clients.apply_with_then(Clients::wake, first.client, |()| ());
        }
    }
}
