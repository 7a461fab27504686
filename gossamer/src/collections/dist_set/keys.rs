//! Single keys of a [`DistSet`]: inserted, looked up, removed.

use crate::collections::{DistSet, Entries};
use crate::worker::require_fiber;
use crate::{NoRef, Pending};
use std::hash::Hash;

impl<K: Hash + Eq + NoRef> DistSet<K> {
    /// Inserts a key, and returns whether it is new. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// assert!(seen.insert(7_u64));
    /// assert!(!seen.insert(7));
    /// # });
    /// ```
    #[track_caller]
    pub fn insert(&self, key: K) -> bool {
        let (entries, hash) = self.keys.at(&key);
        entries.apply_in("insert", insert, (hash, key))
    }

    /// Like [`insert`](Self::insert), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let seen = gossamer::collections::DistSet::new();
    /// let inserted = [7, 8, 7].map(|key| seen.insert_async(key)); // all are under way
    /// assert_eq!(inserted.map(|pending| pending.wait()), [true, true, false]);
    /// # });
    /// ```
    #[track_caller]
    pub fn insert_async(&self, key: K) -> Pending<bool> {
        let (entries, hash) = self.keys.at(&key);
        entries.apply_with_async(insert, (hash, key))
    }

    /// Like [`insert`](Self::insert), without waiting: `then` is told whether the key is new, on this worker, as with
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// seen.insert_then(7_u64, |is_new| assert!(is_new));
    /// assert!(seen.contains(7)); // served behind it
    /// # });
    /// ```
    #[track_caller]
    pub fn insert_then(&self, key: K, then: impl FnOnce(bool) + 'static) {
        let (entries, hash) = self.keys.at(&key);
        entries.apply_with_then(insert, (hash, key), then);
    }

    /// Whether the set has a key. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// assert!(!seen.contains(7_u64));
    /// # });
    /// ```
    #[track_caller]
    pub fn contains(&self, key: K) -> bool {
        require_fiber("contains");
        self.keys.contains_key(key)
    }

    /// Like [`contains`](Self::contains), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let seen = gossamer::collections::DistSet::new();
    /// seen.insert(7);
    /// let asked = [7, 8].map(|key| seen.contains_async(key)); // both are under way
    /// assert_eq!(asked.map(|pending| pending.wait()), [true, false]);
    /// # });
    /// ```
    #[track_caller]
    pub fn contains_async(&self, key: K) -> Pending<bool> {
        self.keys.contains_key_async(key)
    }

    /// Like [`contains`](Self::contains), without waiting: `then` is told, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let seen = gossamer::collections::DistSet::new();
    /// seen.contains_then(7, |is_there| assert!(!is_there));
    /// seen.insert(7); // served behind it
    /// # });
    /// ```
    #[track_caller]
    pub fn contains_then(&self, key: K, then: impl FnOnce(bool) + 'static) {
        self.keys.contains_key_then(key, then);
    }

    /// Removes a key, and returns whether it was there. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistSet;
    /// let seen = DistSet::new();
    /// seen.insert(7_u64);
    /// assert!(seen.remove(7));
    /// assert!(!seen.remove(7));
    /// # });
    /// ```
    #[track_caller]
    pub fn remove(&self, key: K) -> bool {
        let (entries, hash) = self.keys.at(&key);
        entries.apply_in("remove", remove, (hash, key))
    }

    /// Like [`remove`](Self::remove), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let seen = gossamer::collections::DistSet::new();
    /// seen.insert(7);
    /// let removed = [7, 8].map(|key| seen.remove_async(key)); // both are under way
    /// assert_eq!(removed.map(|pending| pending.wait()), [true, false]);
    /// # });
    /// ```
    #[track_caller]
    pub fn remove_async(&self, key: K) -> Pending<bool> {
        let (entries, hash) = self.keys.at(&key);
        entries.apply_with_async(remove, (hash, key))
    }

    /// Like [`remove`](Self::remove), without waiting: `then` is told whether the key was there, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let seen = gossamer::collections::DistSet::new();
    /// seen.insert(7);
    /// seen.remove_then(7, |was_there| assert!(was_there));
    /// assert!(!seen.contains(7)); // served behind it
    /// # });
    /// ```
    #[track_caller]
    pub fn remove_then(&self, key: K, then: impl FnOnce(bool) + 'static) {
        let (entries, hash) = self.keys.at(&key);
        entries.apply_with_then(remove, (hash, key), then);
    }
}

fn insert<K: Hash + Eq>(entries: &mut Entries<K, ()>, (hash, key): (u64, K)) -> bool {
    entries.entry(hash, key, ()).1.is_none()
}

fn remove<K: Hash + Eq>(entries: &mut Entries<K, ()>, (hash, key): (u64, K)) -> bool {
    entries.remove(hash, &key).is_some()
}
