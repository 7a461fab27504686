//! [`KeyedUpdates`]: many small changes of entries, gathered and sent in batches.

use crate::collections::dist_map::entries::in_table;
use crate::collections::dist_map::hashing::Hashing;
use crate::collections::filling;
use crate::collections::outbox::{Deliver, Outbox, pause};
use crate::trust::{part_of_hash, rethrow};
use crate::{DelegationError, NoRef};
use hashbrown::HashTable;
use std::borrow::Borrow;
use std::fmt;
use std::hash::Hash;
use std::mem::needs_drop;
use std::panic::Location;

/// Updates in one request, which a worker serves without a pause.
const MOST_SENT: usize = 2048;
/// Bytes of them.
const SENT_BYTES: usize = 64 * 1024;
/// Keys that are gathered for all workers if equal keys are combined: the more are gathered, the fewer are sent, but
/// they have to fit the cache of a processor. Keys that own memory cost more to send, since it is allocated here and
/// freed there.
const fn most_gathered<K>() -> usize {
    if needs_drop::<K>() { 64 * 1024 } else { 16 * 1024 }
}

/// Bytes of those for one worker.
const GATHERED_BYTES: usize = 1024 * 1024;

/// Hashes, keys, and an argument for each. All come back empty, to be reused by their sender.
pub(super) type KeyedBatch<K, A> = (Vec<u64>, Vec<K>, Vec<A>);

/// How an argument is combined with an earlier one of the same key that was not sent yet.
type Combine<A> = Option<Box<dyn Fn(&mut A, A)>>;

/// Updates of entries of a [`DistMap`](crate::collections::DistMap), sent in batches: what
/// [`DistMap::merges`](crate::collections::DistMap::merges) and
/// [`DistMap::updates`](crate::collections::DistMap::updates) return.
///
/// # Cost
/// An update takes 8 bytes, its key and its argument, and some tens of nanoseconds at both ends. One that is merged
/// with another here costs a lookup, and no bytes. Up to 2048 updates, of at most 64 KiB, are sent to a worker in one
/// request, whose answer only brings the memory back for reuse; at most four such requests are on their way to one
/// worker. With more than 16 workers a request has no more than a worker's share of 32,768, or 64. If equal keys are
/// combined, up to 65,536 are gathered first (16,384 if the keys own no memory), shared out among the workers, with at
/// most 1 MiB for each. So a handle holds 320 KiB for each worker, or 1.4 MiB if it merges, besides what keys and
/// arguments own. A fiber that pushes faster than its updates are served waits, and lets others run at each request.
///
/// # Order
/// Updates of one key are served in the order in which they were pushed. Other requests of this fiber may overtake
/// updates that are still gathered: [`flush`](Self::flush) sends these.
///
/// # The end
/// [`finish`](Self::finish) waits until all have been served. A handle that is dropped sends its gathered updates
/// without waiting for them. Nothing is lost: if the closure panics for one update, the others are served all the
/// same, and [`finish`](Self::finish) panics with the first such error. If the handle was dropped, the error is
/// printed.
///
/// It stays with its worker, as fibers do.
#[must_use = "updates that are not finished may be served at any later time"]
pub struct KeyedUpdates<K: NoRef, A: NoRef> {
    hashing: Hashing,
    /// How many updates are gathered for a part, and how many of them go in one request.
    room: usize,
    most_sent: usize,
    /// For each part.
    gathered: Vec<GatheredKeys<K, A>>,
    outbox: Outbox<KeyedBatch<K, A>>,
    combine: Combine<A>,
    made_at: &'static Location<'static>,
}

/// A batch that is being filled, and where each key is in it, if equal keys are combined.
struct GatheredKeys<K, A> {
    batch: KeyedBatch<K, A>,
    places: HashTable<u32>,
}

impl<K: Hash + Eq + NoRef, A: NoRef> KeyedUpdates<K, A> {
    pub(super) fn new(
        hashing: Hashing,
        parts: usize,
        send: Deliver<KeyedBatch<K, A>>,
        combine: Combine<A>,
        made_at: &'static Location<'static>,
    ) -> Self {
        let bytes = size_of::<u64>() + size_of::<K>() + size_of::<A>();
        let most_sent = (SENT_BYTES / bytes).clamp(1, filling::share(MOST_SENT, parts));
        let (room, places) = if combine.is_some() {
            let room = (GATHERED_BYTES / bytes).min(most_gathered::<K>() / parts).max(most_sent);
            (room, room)
        } else {
            (most_sent, 0)
        };
        let gathered = || GatheredKeys {
            batch: (Vec::with_capacity(room), Vec::with_capacity(room), Vec::with_capacity(room)),
            places: HashTable::with_capacity(places),
        };
        let gathered = (0..parts).map(|_| gathered()).collect();
        Self { hashing, room, most_sent, gathered, outbox: Outbox::new(parts, send), combine, made_at }
    }

    /// Adds an update of this key.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let counts = DistMap::<String, u64>::new();
    /// let mut adds = counts.merges(|count, more| *count += more);
    /// adds.push("tea".to_owned(), 2);
    /// adds.push("tea".to_owned(), 3); // one entry of a batch
    /// adds.finish();
    /// assert_eq!(counts.get("tea".to_owned()), Some(5));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure of [`merges`](crate::collections::DistMap::merges) panics, which may run here. In delegated
    /// closures and callbacks, if a batch would have to wait.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, key: K, argument: A) {
        if let Some(part) = self.gather(key, argument) {
            self.send_all(part);
        }
    }

    /// Like [`push`](Self::push), with a borrowed key, which is cloned unless an equal one is already gathered and
    /// combined with it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let counts = DistMap::<String, u64>::new();
    /// let mut adds = counts.merges(|count, more| *count += more);
    /// "to be or not to be".split(' ').for_each(|word| adds.push_ref(word, 1)); // copied once
    /// adds.finish();
    /// assert_eq!(counts.get("to".to_owned()), Some(2));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`push`](Self::push).
    #[inline]
    #[track_caller]
    pub fn push_ref<Q>(&mut self, key: &Q, argument: A)
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(part) = self.gather_ref(key, argument) {
            self.send_all(part);
        }
    }

    /// Like [`push`](Self::push), without sending: returns a part of which a full batch, or more, is gathered.
    #[inline]
    pub(in crate::collections) fn gather(&mut self, key: K, argument: A) -> Option<usize> {
        let hash = self.hashing.hash(&key);
        let part = part_of_hash(hash, self.gathered.len());
        let argument = self.combined(part, hash, &key, argument)?;
        self.add(part, hash, key, argument).then_some(part)
    }

    /// Like [`push_ref`](Self::push_ref), without sending.
    #[inline]
    pub(in crate::collections) fn gather_ref<Q>(&mut self, key: &Q, argument: A) -> Option<usize>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let hash = self.hashing.hash(key);
        let part = part_of_hash(hash, self.gathered.len());
        let argument = self.combined(part, hash, key, argument)?;
        self.add(part, hash, key.to_owned(), argument).then_some(part)
    }

    /// Sends the batches that are full.
    #[track_caller]
    pub(in crate::collections) fn send_full(&mut self) {
        for part in 0..self.gathered.len() {
            if self.gathered[part].batch.0.len() >= self.room {
                self.send_all(part);
            }
        }
    }

    /// Combines an argument with that of the same key; returns the argument if there is none.
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

    /// Returns whether the batch is full.
    #[inline]
    fn add(&mut self, part: usize, hash: u64, key: K, argument: A) -> bool {
        let GatheredKeys { batch: (hashes, keys, arguments), places } = &mut self.gathered[part];
        if self.combine.is_some() {
            places.insert_unique(in_table(hash), hashes.len() as u32, |place| {
                in_table(hashes[*place as usize])
            });
        }
        hashes.push(hash);
        keys.push(key);
        arguments.push(argument);
        hashes.len() >= self.room
    }

    /// Sends everything that is gathered, without waiting for it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = gossamer::collections::DistMap::new();
    /// let mut adds = counts.updates(0, |count, more: u64| *count += more);
    /// adds.push("tea".to_owned(), 7);
    /// adds.flush(); // on its way; nobody waits
    /// assert_eq!(counts.get("tea".to_owned()), Some(7)); // served behind it
    /// # });
    /// ```
    ///
    /// # Panics
    /// In delegated closures and callbacks, if it would have to wait.
    #[track_caller]
    pub fn flush(&mut self) {
        for part in 0..self.gathered.len() {
            self.send_all(part);
        }
    }

    /// Waits until all updates have been served.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let counts = DistMap::<String, u64>::new();
    /// let mut adds = counts.merges(|count, more| *count += more);
    /// adds.push("tea".to_owned(), 2);
    /// adds.finish(); // all are served
    /// assert_eq!(counts.len(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panicked for one of them; where the caller cannot wait.
    #[track_caller]
    pub fn finish(self) {
        if let Err(error) = self.try_finish() {
            rethrow(error, Location::caller());
        }
    }

    /// Like [`finish`](Self::finish), but returns an error instead of panicking.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let stock = gossamer::collections::DistMap::new();
    /// let mut sales = stock.updates(3, |left: &mut u64, sold| *left = left.checked_sub(sold).expect("not so many"));
    /// sales.push("tea".to_owned(), 2);
    /// sales.push("milk".to_owned(), 5);
    /// let error = sales.try_finish().unwrap_err();
    /// assert!(error.to_string().contains("not so many"));
    /// # });
    /// ```
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

    /// Sends what is gathered for a part.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn send_all(&mut self, part: usize) {
        while !self.gathered[part].batch.0.is_empty() {
            self.outbox.make_way(part);
            let some = self.some(part);
            self.outbox.send(part, some);
            pause();
        }
    }
}

impl<K: NoRef, A: NoRef> KeyedUpdates<K, A> {
    /// Takes as much as fits one request of what is gathered for a part.
    fn some(&mut self, part: usize) -> KeyedBatch<K, A> {
        let (mut hashes, mut keys, mut arguments) = self.outbox.spare().unwrap_or_default();
        let GatheredKeys { batch, places } = &mut self.gathered[part];
        // If the fiber unwinds before all are sent, the remaining ones are no longer combined.
        places.clear();
        let len = batch.0.len();
        let some = match self.combine {
            // The order does not matter, so the last ones: then none has to be moved.
            Some(_) => len.saturating_sub(self.most_sent)..len,
            None => 0..len.min(self.most_sent),
        };
        hashes.extend(batch.0.drain(some.clone()));
        keys.extend(batch.1.drain(some.clone()));
        arguments.extend(batch.2.drain(some));
        (hashes, keys, arguments)
    }
}

impl<K: NoRef, A: NoRef> Drop for KeyedUpdates<K, A> {
    fn drop(&mut self) {
        for part in 0..self.gathered.len() {
            while !self.gathered[part].batch.0.is_empty() {
                let some = self.some(part);
                self.outbox.send_in_drop(part, some);
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
