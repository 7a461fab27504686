//! [`KeyedUpdates`]: many small changes of entries, gathered and sent by batches.

use crate::collections::dist_map::entries::in_table;
use crate::collections::dist_map::hashing::Hashing;
use crate::collections::dist_map::outbox::{Deliver, Outbox};
use crate::trust::{part_of_hash, rethrow};
use crate::{DelegationError, NoRef};
use hashbrown::HashTable;
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::panic::Location;

/// Bytes that are gathered for a worker before they are sent.
const GATHERED_BYTES: usize = 256 * 1024;
/// Keys that are gathered for all workers, if these have fewer bytes: they stay in the cache of a processor.
const MOST_GATHERED: usize = 16 * 1024;
/// Keys that are gathered for one worker, however many workers there are.
const LEAST_GATHERED: usize = 1024;

/// Hashes, keys, and an argument for each. All come back empty, to be used again by who made them.
pub(super) type KeyedBatch<K, A> = (Vec<u64>, Vec<K>, Vec<A>);

/// What an argument does to that of the same key before it, if that has not been sent.
type Combine<A> = Option<Box<dyn Fn(&mut A, A)>>;

/// Updates of entries of a [`DistMap`](crate::collections::DistMap), which are sent by batches: what
/// [`DistMap::merges`](crate::collections::DistMap::merges) and [`DistMap::updates`](crate::collections::DistMap::updates) return.
///
/// # Cost
/// An update is 8 bytes, its key and its argument, and some tens of nanoseconds at both ends. One that is merged with another here costs
/// looking it up, and no bytes. Over all workers 16,384 of them are gathered, 1,024 at least for each, in 256 KiB at most; those of a worker are
/// sent by one request when so many are there, whose answer carries nothing but the memory back to be used again. No more than two such batches are
/// on their way to one worker. So a handle holds 800 KiB for each worker at most, besides what keys and arguments own; a fiber that is faster than
/// they are served waits, and lets others run at each batch.
///
/// # Order
/// Updates of one key are served in the order in which they were pushed. What else this fiber sends may overtake them while they are
/// gathered: [`flush`](Self::flush) sends them.
///
/// # The end
/// [`finish`](Self::finish) waits until all have been served. A handle that is dropped sends what it has gathered, without waiting for
/// it. Nothing is lost: if the closure panics for one update, the others are served all the same, and [`finish`](Self::finish) panics
/// with the first that came back. Who has dropped the handle finds it printed.
///
/// It stays with its worker, as fibers do.
#[must_use = "updates that are not finished may be served at any later time"]
pub struct KeyedUpdates<K: NoRef, A: NoRef> {
    hashing: Hashing,
    room: usize,
    /// For each part.
    gathered: Vec<GatheredKeys<K, A>>,
    outbox: Outbox<KeyedBatch<K, A>>,
    combine: Combine<A>,
    made_at: &'static Location<'static>,
}

/// A batch that is being filled, and where in it each key is, if equal keys are combined.
struct GatheredKeys<K, A> {
    batch: KeyedBatch<K, A>,
    places: HashTable<u32>,
}

fn batch_of<K, A>(room: usize) -> KeyedBatch<K, A> {
    (Vec::with_capacity(room), Vec::with_capacity(room), Vec::with_capacity(room))
}

impl<K: Hash + Eq + NoRef, A: NoRef> KeyedUpdates<K, A> {
    pub(super) fn new(
        hashing: Hashing,
        parts: usize,
        send: Deliver<KeyedBatch<K, A>>,
        combine: Combine<A>,
        made_at: &'static Location<'static>,
    ) -> Self {
        let keys = (MOST_GATHERED / parts).max(LEAST_GATHERED);
        let room = (GATHERED_BYTES / (size_of::<u64>() + size_of::<K>() + size_of::<A>())).clamp(1, keys);
        let places = if combine.is_some() { room } else { 0 };
        let gathered = || GatheredKeys { batch: batch_of(room), places: HashTable::with_capacity(places) };
        let gathered = (0..parts).map(|_| gathered()).collect();
        Self { hashing, room, gathered, outbox: Outbox::new(parts, send), combine, made_at }
    }

    /// Adds an update of this key.
    ///
    /// # Panics
    /// If the closure of [`merges`](crate::collections::DistMap::merges) panics, which may be applied here. In delegated closures and callbacks, once a
    /// batch would have to wait.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, key: K, argument: A) {
        let hash = self.hashing.hash(&key);
        let part = part_of_hash(hash, self.gathered.len());
        if let Some(argument) = self.combined(part, hash, &key, argument) {
            self.add(part, hash, key, argument);
        }
    }

    /// As [`push`](Self::push), of a key that is borrowed: it is cloned if none that it could be combined with is gathered.
    ///
    /// # Panics
    /// As [`push`](Self::push).
    #[inline]
    #[track_caller]
    pub fn push_ref<Q>(&mut self, key: &Q, argument: A)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = self.hashing.hash(key);
        let part = part_of_hash(hash, self.gathered.len());
        if let Some(argument) = self.combined(part, hash, key, argument) {
            self.add(part, hash, key.to_owned(), argument);
        }
    }

    /// Combines an argument with that of the same key; returns it if there is none.
    #[inline]
    fn combined<Q: Eq + ?Sized>(&mut self, part: usize, hash: u64, key: &Q, argument: A) -> Option<A>
    where
        K: Borrow<Q>,
    {
        let Some(combine) = &self.combine else { return Some(argument) };
        let GatheredKeys { batch: (_, keys, arguments), places } = &mut self.gathered[part];
        match places.find(in_table(hash), |place| keys[*place as usize].borrow() == key) {
            Some(place) => {
                combine(&mut arguments[*place as usize], argument);
                None
            }
            None => Some(argument),
        }
    }

    #[inline]
    #[track_caller]
    fn add(&mut self, part: usize, hash: u64, key: K, argument: A) {
        let GatheredKeys { batch: (hashes, keys, arguments), places } = &mut self.gathered[part];
        if self.combine.is_some() {
            // There is room for all.
            places.insert_unique(in_table(hash), hashes.len() as u32, |place| {
                in_table(hashes[*place as usize])
            });
        }
        hashes.push(hash);
        keys.push(key);
        arguments.push(argument);
        if hashes.len() == self.room {
            self.send_full(part);
        }
    }

    /// Sends all that is gathered, without waiting for it.
    ///
    /// # Panics
    /// In delegated closures and callbacks, if it would have to wait.
    #[track_caller]
    pub fn flush(&mut self) {
        for part in 0..self.gathered.len() {
            if !self.gathered[part].batch.0.is_empty() {
                self.outbox.make_way(part);
                self.send(part);
            }
        }
    }

    /// Waits until all updates have been served.
    ///
    /// # Panics
    /// If the closure panicked for one of them; where the caller cannot wait.
    #[track_caller]
    pub fn finish(self) {
        if let Err(error) = self.try_finish() {
            rethrow(error, Location::caller());
        }
    }

    /// As [`finish`](Self::finish), but returns why an update was not served.
    ///
    /// # Errors
    /// If the closure panicked for one of them, or a worker has ended.
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn try_finish(mut self) -> Result<(), DelegationError> {
        self.flush();
        self.outbox.finish()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn send_full(&mut self, part: usize) {
        self.outbox.make_way(part);
        self.send(part);
        self.outbox.pause();
    }

    fn send(&mut self, part: usize) {
        let mut empty = self.outbox.spare().unwrap_or_default();
        // What comes back from another node has left its memory there.
        empty.0.reserve_exact(self.room);
        empty.1.reserve_exact(self.room);
        empty.2.reserve_exact(self.room);
        let gathered = &mut self.gathered[part];
        gathered.places.clear();
        let batch = std::mem::replace(&mut gathered.batch, empty);
        self.outbox.send(part, batch);
    }
}

impl<K: NoRef, A: NoRef> Drop for KeyedUpdates<K, A> {
    fn drop(&mut self) {
        for (part, gathered) in self.gathered.iter_mut().enumerate() {
            if !gathered.batch.0.is_empty() {
                self.outbox.send(part, std::mem::take(&mut gathered.batch));
            }
        }
    }
}

impl<K: Hash + Eq + NoRef, A: NoRef> Extend<(K, A)> for KeyedUpdates<K, A> {
    #[track_caller]
    fn extend<I: IntoIterator<Item = (K, A)>>(&mut self, updates: I) {
        for (key, argument) in updates {
            self.push(key, argument);
        }
    }
}

impl<K: NoRef, A: NoRef> fmt::Debug for KeyedUpdates<K, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gathered: usize = self.gathered.iter().map(|gathered| gathered.batch.0.len()).sum();
        f.debug_struct("KeyedUpdates")
            .field("gathered", &gathered)
            .field("batches_under_way", &self.outbox.under_way())
            .field("made_at", &format_args!("{}", self.made_at))
            .finish()
    }
}
