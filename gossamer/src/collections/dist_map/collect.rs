//! A [`DistMap`] of the pairs of an iterator.

use crate::NoRef;
use crate::collections::DistMap;
use crate::worker::require_fiber;
use std::hash::Hash;

impl<K: Hash + Eq + NoRef, V: NoRef> DistMap<K, V> {
    /// Inserts many entries in batches; the old values of keys that the map has are dropped. The last of several
    /// values for one key is kept.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// squares.extend((0..100_u64).map(|number| (number, number * number)));
    /// assert_eq!((squares.len(), squares.get(12)), (100, Some(144)));
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`merges`](Self::merges).
    #[track_caller]
    pub fn extend(&self, entries: impl IntoIterator<Item = (K, V)>) {
        require_fiber("extend");
        let mut inserts = self.merges(const { |value: &mut V, later: V| *value = later });
        inserts.extend(entries);
        inserts.finish();
    }
}

impl<K: Hash + Eq + NoRef, V: NoRef> FromIterator<(K, V)> for DistMap<K, V> {
    /// On all workers of all nodes: [`new`](DistMap::new), then [`extend`](DistMap::extend).
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        require_fiber("collect");
        let map = Self::new();
        map.extend(entries);
        map
    }
}
