//! The databases of a shard. The current one is stored inline, so that a client that stays in one pays nothing for the
//! others; these are made when they are first used.

use crate::protocol::number;
use crate::protocol::reply::Replies;
use crate::store::Shard;
use crate::store::snapshot::Saving;
use crate::store::table::Table;
use crate::store::waiting::Waiting;
use crate::store::watches::Watches;

/// The keys of one database, and the clients that watch them and wait for them.
#[derive(Default)]
pub struct Database {
    pub table: Table,
    pub watches: Watches,
    pub waiting: Waiting,
    /// A snapshot that is being made.
    pub saving: Option<Saving>,
}

/// The databases that are not current.
#[derive(Default)]
pub struct Others {
    /// By their numbers; nothing in place of the current one, and of those that were never used.
    databases: Vec<Option<Box<Database>>>,
    /// Bytes that their tables take.
    memory: usize,
}

impl Others {
    fn get(&mut self, number: u16) -> &mut Option<Box<Database>> {
        let number = usize::from(number);
        if self.databases.len() <= number {
            self.databases.resize_with(number + 1, || None);
        }
        &mut self.databases[number]
    }
}

impl Shard {
    /// Makes this database the current one.
    #[inline]
    pub fn select(&mut self, number: u16) {
        if number != self.selected {
            self.exchange(number);
        }
    }

    #[cold]
    fn exchange(&mut self, number: u16) {
        let mut database = self.others.get(number).take().unwrap_or_default();
        self.others.memory -= database.table.memory();
        std::mem::swap(&mut self.database, &mut database);
        self.others.memory += database.table.memory();
        *self.others.get(self.selected) = Some(database);
        self.selected = number;
    }

    /// Calls a function with each database that was used, in order of their numbers.
    pub fn in_each_database(&mut self, mut work: impl FnMut(&mut Self)) {
        let selected = self.selected;
        for number in 0..self.others.databases.len().max(usize::from(selected) + 1) as u16 {
            if number == self.selected || self.others.get(number).is_some() {
                self.select(number);
                work(self);
            }
        }
        self.select(selected);
    }

    /// Bytes of memory of all databases, roughly.
    #[inline]
    pub fn memory(&self) -> usize {
        self.database.table.memory() + self.others.memory
    }

    /// How many keys each database has, and how many of them expire, by their numbers.
    pub fn keys_by_database(&mut self) -> Vec<[u64; 2]> {
        let mut counts = Vec::new();
        self.in_each_database(|shard| {
            let table = &shard.database.table;
            counts.resize(usize::from(shard.selected) + 1, [0; 2]);
            counts[usize::from(shard.selected)] = [table.length() as u64, table.expiring() as u64];
        });
        counts
    }

    /// Moves a key to another database, if it is not there.
    pub fn move_key(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) {
        let &[key, number] = arguments else { return to.integer(0) };
        let (source, target) = (self.selected, parse(number));
        let is_there = self.find(key).is_some();
        self.select(target);
        let may_move = is_there && self.find(key).is_none();
        if may_move {
            self.select(source);
            if let Some(slot) = self.find(key) {
                let entry = self.remove(slot);
                self.select(target);
                self.insert(entry);
                self.give_turns();
            }
        }
        self.select(source);
        to.integer(i64::from(may_move));
    }

    /// Exchanges the keys of two databases. Clients that watch or wait stay where they are.
    pub fn swap_databases(&mut self, arguments: &[&[u8]], to: &mut Replies<'_>) {
        let &[first, second] = arguments else { return to.ok() };
        let (selected, first, second) = (self.selected, parse(first), parse(second));
        if first != second {
            self.select(first);
            let mut other = self.others.get(second).take().unwrap_or_default();
            // This counts as a change of all keys of both.
            note_all(&mut self.database, &other.table);
            note_all(&mut other, &self.database.table);
            self.others.memory = self.others.memory - other.table.memory() + self.database.table.memory();
            std::mem::swap(&mut self.database.table, &mut other.table);
            std::mem::swap(&mut self.database.saving, &mut other.saving);
            self.database.waiting.note_all(&self.database.table);
            other.waiting.note_all(&other.table);
            *self.others.get(second) = Some(other);
            self.select(selected);
        }
        to.ok();
    }

    pub fn flush_all(&mut self, to: &mut Replies<'_>) {
        self.in_each_database(Self::clear);
        to.ok();
    }

    /// Tells the first waiting client of each key that has appeared during a transaction, in all databases.
    pub fn give_turns_everywhere(&mut self) {
        let is_unsettled = |database: &Database| !database.waiting.is_settled();
        if self.others.databases.iter().flatten().any(|database| is_unsettled(database)) {
            self.in_each_database(Self::give_turns);
        } else {
            self.give_turns();
        }
    }
}

/// The number of a database, as operations have it.
fn parse(number: &[u8]) -> u16 {
    number::parse(number).and_then(|number| u16::try_from(number).ok()).unwrap_or(0)
}

/// Notes that keys which are watched may have changed: those that are here, or will be.
fn note_all(database: &mut Database, other: &Table) {
    let table = &database.table;
    database.watches.note_changes(|key| table.find(key).is_some() || other.find(key).is_some());
}
