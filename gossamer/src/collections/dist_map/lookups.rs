//! What a [`DistMap`] has under a key.

use crate::collections::{DistMap, Entries};
use crate::{NoRef, Pending};
use std::hash::Hash;

impl<K: Hash + Eq + NoRef, V: NoRef> DistMap<K, V> {
    /// A copy of the value of a key, if it is there. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// assert_eq!((squares.get(3), squares.get(4)), (Some(9), None));
    /// # });
    /// ```
    #[track_caller]
    pub fn get(&self, key: K) -> Option<V>
    where
        V: Clone,
    {
        let (entries, hash) = self.at(&key);
        entries.apply_in("get", copy, (hash, key))
    }

    /// Like [`get`](Self::get), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// let (three, four) = (squares.get_async(3), squares.get_async(4)); // both are under way
    /// assert_eq!((three.wait(), four.wait()), (Some(9), None));
    /// # });
    /// ```
    #[track_caller]
    pub fn get_async(&self, key: K) -> Pending<Option<V>>
    where
        V: Clone,
    {
        let (entries, hash) = self.at(&key);
        entries.apply_with_async(copy, (hash, key))
    }

    /// Like [`get`](Self::get), without waiting: `then` is called with the copy, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// squares.insert(3, 9);
    /// squares.get_then(3, |square| assert_eq!(square, Some(9)));
    /// assert!(squares.contains_key(3)); // served behind it
    /// # });
    /// ```
    #[track_caller]
    pub fn get_then(&self, key: K, then: impl FnOnce(Option<V>) + 'static)
    where
        V: Clone,
    {
        let (entries, hash) = self.at(&key);
        entries.apply_with_then(copy, (hash, key), then);
    }
}

impl<K: Hash + Eq + NoRef, V: 'static> DistMap<K, V> {
    /// Whether the map has a key. One request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// assert!(squares.contains_key(3) && !squares.contains_key(4));
    /// # });
    /// ```
    #[track_caller]
    pub fn contains_key(&self, key: K) -> bool {
        let (entries, hash) = self.at(&key);
        entries.apply_in("contains_key", contains, (hash, key))
    }

    /// Like [`contains_key`](Self::contains_key), without waiting.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// squares.insert(3, 9);
    /// let asked = [3, 4].map(|number| squares.contains_key_async(number)); // both are under way
    /// assert_eq!(asked.map(|pending| pending.wait()), [true, false]);
    /// # });
    /// ```
    #[track_caller]
    pub fn contains_key_async(&self, key: K) -> Pending<bool> {
        let (entries, hash) = self.at(&key);
        entries.apply_with_async(contains, (hash, key))
    }

    /// Like [`contains_key`](Self::contains_key), without waiting: `then` is told, on this worker, as by
    /// [`Trust::apply_then`](crate::Trust::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// squares.insert(3, 9);
    /// squares.contains_key_then(3, |is_there| assert!(is_there));
    /// squares.remove(3); // served behind it
    /// # });
    /// ```
    #[track_caller]
    pub fn contains_key_then(&self, key: K, then: impl FnOnce(bool) + 'static) {
        let (entries, hash) = self.at(&key);
        entries.apply_with_then(contains, (hash, key), then);
    }
}

fn copy<K: Hash + Eq, V: Clone>(entries: &mut Entries<K, V>, (hash, key): (u64, K)) -> Option<V> {
    entries.find(hash, &key).cloned()
}

fn contains<K: Hash + Eq, V>(entries: &mut Entries<K, V>, (hash, key): (u64, K)) -> bool {
    entries.find(hash, &key).is_some()
}
