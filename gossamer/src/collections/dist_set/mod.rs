//! [`DistSet`]: a set whose keys are spread over workers by their hashes.

mod keys;
mod retain;

use crate::collections::{Chunks, DistMap, KeyedUpdates};
use crate::worker::require_fiber;
use crate::{NoRef, Trustee};
use std::fmt;
use std::hash::Hash;

/// A set whose keys are spread over workers by their hashes: a [`DistMap`] without values, with the same order,
/// costs, memory and panics.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::collections::DistSet;
/// let seen = DistSet::new();
/// assert!(seen.insert("/index.html".to_owned()));
/// assert!(!seen.insert("/index.html".to_owned()), "it is there");
/// assert!(seen.contains("/index.html".to_owned()));
/// # });
/// ```
pub struct DistSet<K: 'static> {
    keys: DistMap<K, ()>,
}

impl<K> Clone for DistSet<K> {
    fn clone(&self) -> Self {
        Self { keys: self.keys.clone() }
    }
}

impl<K: Hash + Eq + 'static> DistSet<K> {
    /// An empty set on all workers of all nodes. One request for each.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// assert!(seen.insert("tea".to_owned()));
    /// assert!(!seen.insert("tea".to_owned())); // it is there already
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`DistMap::new`].
    #[track_caller]
    pub fn new() -> Self {
        Self { keys: DistMap::new() }
    }

    /// An empty set on these workers. One request for each.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let other = gossamer::Trustee::all()[1];
    /// let seen = DistSet::<u64>::on(&[other]);
    /// assert_eq!(seen.trustees(), [other]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`DistMap::on`].
    #[track_caller]
    pub fn on(trustees: &[Trustee]) -> Self {
        Self { keys: DistMap::on(trustees) }
    }

    /// The worker that has a key or would have it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// seen.insert(7_u64);
    /// let owner = seen.trustee_of(&7); // work with it is done best there
    /// assert!(seen.trustees().contains(&owner));
    /// # });
    /// ```
    pub fn trustee_of(&self, key: &K) -> Trustee {
        self.keys.trustee_of(key)
    }
}

impl<K: Hash + Eq + 'static> Default for DistSet<K> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<K: Hash + Eq + NoRef> DistSet<K> {
    /// A handle for inserting many keys in batches: a key that is pushed more than once is sent once, as long as it
    /// is still gathered ([`DistMap::merges`]).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let words = gossamer::collections::DistSet::<String>::new();
    /// let mut inserts = words.inserts();
    /// "to be or not to be".split(' ').for_each(|word| inserts.push_ref(word, ()));
    /// inserts.finish();
    /// assert_eq!(words.len(), 4);
    /// # });
    /// ```
    #[track_caller]
    pub fn inserts(&self) -> KeyedUpdates<K, ()> {
        self.keys.merges(const { |(): &mut (), ()| {} })
    }

    /// Inserts many keys in batches, as [`inserts`](Self::inserts) does.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let words = gossamer::collections::DistSet::new();
    /// words.extend("to be or not to be".split(' ').map(str::to_owned));
    /// assert_eq!(words.len(), 4);
    /// # });
    /// ```
    #[track_caller]
    pub fn extend(&self, keys: impl IntoIterator<Item = K>) {
        require_fiber("extend");
        let mut inserts = self.inserts();
        inserts.extend(keys.into_iter().map(|key| (key, ())));
        inserts.finish();
    }

    /// Copies of all keys, some thousands at a time, in no particular order: the keys of [`DistMap::chunks`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// (0..5_u64).for_each(|key| assert!(seen.insert(key)));
    /// let sum: u64 = seen.chunks().flatten().sum();
    /// assert_eq!(sum, 10);
    /// # });
    /// ```
    #[track_caller]
    pub fn chunks(&self) -> impl Iterator<Item = Vec<K>>
    where
        K: Clone,
    {
        keys_of(self.keys.chunks())
    }

    /// Like [`chunks`](Self::chunks), but removes the keys from the set: those of [`DistMap::drain`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// (0..5_u64).for_each(|key| assert!(seen.insert(key)));
    /// assert_eq!(seen.drain().flatten().count(), 5);
    /// assert!(seen.is_empty());
    /// # });
    /// ```
    #[track_caller]
    pub fn drain(&self) -> impl Iterator<Item = Vec<K>> {
        keys_of(self.keys.drain())
    }
}

impl<K: Hash + Eq + NoRef> FromIterator<K> for DistSet<K> {
    /// On all workers of all nodes: [`new`](DistSet::new), then [`extend`](DistSet::extend).
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        require_fiber("collect");
        let set = Self::new();
        set.extend(keys);
        set
    }
}

fn keys_of<K: NoRef>(chunks: Chunks<K, ()>) -> impl Iterator<Item = Vec<K>> {
    chunks.map(|chunk| chunk.into_iter().map(|(key, ())| key).collect())
}

impl<K: 'static> DistSet<K> {
    /// The number of keys. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// seen.insert(7_u64);
    /// assert_eq!(seen.len(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`DistMap::len`].
    #[track_caller]
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether the set is empty. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let seen = gossamer::collections::DistSet::new();
    /// assert!(seen.is_empty());
    /// seen.insert(7);
    /// assert!(!seen.is_empty());
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`DistMap::len`].
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Removes all keys. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// seen.insert(7_u64);
    /// seen.clear();
    /// assert!(seen.is_empty());
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`DistMap::len`].
    #[track_caller]
    pub fn clear(&self) {
        self.keys.clear();
    }

    /// The workers that have the keys. A worker may be listed twice.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, collections::DistSet};
    /// let here = DistSet::on(&Trustee::all()[..1]);
    /// here.insert(7_u64);
    /// assert!(here.trustees().iter().all(|worker| *worker == Trustee::here())); // so no request leaves this worker
    /// # });
    /// ```
    pub fn trustees(&self) -> Vec<Trustee> {
        self.keys.trustees()
    }

    /// The set as a map without values, to use the methods of [`DistMap`] that take closures ([`DistMap::retain`],
    /// [`DistMap::map_all`] and others).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// (0..5_u64).for_each(|key| assert!(seen.insert(key)));
    /// seen.as_map().retain(|key, ()| key % 2 == 0);
    /// assert_eq!(seen.len(), 3);
    /// # });
    /// ```
    pub fn as_map(&self) -> &DistMap<K, ()> {
        &self.keys
    }

    pub(super) fn into_map(self) -> DistMap<K, ()> {
        self.keys
    }

    pub(super) fn from_map(keys: DistMap<K, ()>) -> Self {
        Self { keys }
    }
}

impl<K: fmt::Debug> fmt::Debug for DistSet<K> {
    /// As the map of [`as_map`](Self::as_map).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DistSet").field(&self.keys).finish()
    }
}
