//! [`DistMap::par_map`] and [`DistMap::par_filter`]: making a map from another one, in place.

use crate::collections::dist_map::hashing::Hashing;
use crate::collections::dist_map::parts::OwnEntries;
use crate::collections::dist_map::{DistMap, Entries};
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Sharded, WithoutCaptures, entrust};
use std::hash::Hash;

impl<K: Hash + Eq + Clone + 'static, V: 'static> DistMap<K, V> {
    /// A map of the same keys, on the same workers, with what a closure returns for each key and its value.
    ///
    /// ```
    /// use gossamer::collections::DistMap;
    ///
    /// #[gossamer::delegate]
    /// fn scaled(prices: &DistMap<char, u64>, by: u64) -> DistMap<char, u64> {
    ///     prices.par_map(|_, price| price * by)
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let prices = DistMap::new();
    /// prices.insert('a', 3);
    /// assert_eq!(scaled(&prices, 2).get('a'), Some(6));
    /// # });
    /// ```
    ///
    /// # Cost
    /// A fiber on each worker: two requests each, of some tens of bytes and the captures of the closure.
    /// No entry travels. The fibers take turns and visit the entries like [`par_for_each`](Self::par_for_each).
    ///
    /// # Panics
    /// If the closure panics, which also ends the loop on the other workers ([Panics](Self#panics)).
    #[track_caller]
    pub fn par_map<U: 'static, F>(&self, closure: F) -> DistMap<K, U>
    where
        F: FnOnce(&K, &V) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.made_of_each::<F, _, _, _, _>(move |()| move |key, value| Some(closure(key, value)), ())
    }

    /// Like [`par_map`](Self::par_map), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let prices = DistMap::new();
    /// [("tea", 3_u64), ("milk", 1)].map(|(name, price)| prices.insert(name.to_owned(), price));
    /// let by_the_crate = prices.par_map_with(|_, price, pieces| price * pieces, 12);
    /// assert_eq!(by_the_crate.get("tea".to_owned()), Some(36));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_map`](Self::par_map).
    #[track_caller]
    pub fn par_map_with<C: NoRef + Clone, U: 'static, F>(&self, closure: F, arguments: C) -> DistMap<K, U>
    where
        F: Fn(&K, &V, &C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let make = move |arguments: C| move |key: &K, value: &V| Some(closure(key, value, &arguments));
        self.made_of_each::<F, _, _, _, _>(make, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_map_with<C: Captured + Clone, U: 'static, F, G>(
        &self,
        arguments: C,
        closure: F,
    ) -> DistMap<K, U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &V) -> U,
    {
        const { refuse_captures::<F>() };
        let make = move |arguments| {
            let closure = closure(arguments);
            move |key: &K, value: &V| Some(closure(key, value))
        };
        self.made_of_each::<F, _, _, _, _>(make, arguments)
    }

    /// A map, on the same workers, of clones of those entries for which a closure returns true. To remove entries
    /// from this map, use [`retain`](Self::retain).
    ///
    /// ```
    /// use gossamer::collections::DistMap;
    ///
    /// #[gossamer::delegate]
    /// fn frequent(counts: &DistMap<String, u64>, least: u64) -> DistMap<String, u64> {
    ///     counts.par_filter(|_, count| *count >= least)
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = DistMap::new();
    /// [("the", 7), ("loom", 1)].map(|(word, count)| counts.insert(word.to_owned(), count));
    /// let frequent = frequent(&counts, 2);
    /// assert_eq!((frequent.len(), frequent.get("the".to_owned())), (1, Some(7)));
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`par_map`](Self::par_map).
    ///
    /// # Panics
    /// Like [`par_map`](Self::par_map).
    #[track_caller]
    #[must_use]
    pub fn par_filter<F>(&self, closure: F) -> Self
    where
        V: Clone,
        F: FnOnce(&K, &V) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.filtered::<F, _, _, _>(move |()| move |key, value| closure(key, value), ())
    }

    /// Like [`par_filter`](Self::par_filter), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let prices = DistMap::new();
    /// [("tea", 3_u64), ("milk", 1)].map(|(name, price)| prices.insert(name.to_owned(), price));
    /// let cheap = prices.par_filter_with(|_, price, most| price <= most, 2);
    /// assert_eq!((cheap.len(), cheap.get("milk".to_owned())), (1, Some(1)));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_map`](Self::par_map).
    #[track_caller]
    #[must_use]
    pub fn par_filter_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C) -> Self
    where
        V: Clone,
        F: Fn(&K, &V, &C) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |key: &K, value: &V| closure(key, value, &arguments);
        self.filtered::<F, _, _, _>(lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    #[must_use]
    pub fn __par_filter_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F) -> Self
    where
        V: Clone,
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &V) -> bool,
    {
        const { refuse_captures::<F>() };
        self.filtered::<F, _, _, _>(closure, arguments)
    }

    #[track_caller]
    fn filtered<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C) -> Self
    where
        V: Clone,
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &V) -> bool,
    {
        require_fiber("par_filter");
        let make = move |arguments| {
            let closure = closure(arguments);
            move |key: &K, value: &V| closure(key, value).then(|| value.clone())
        };
        self.made_of_each::<N, _, _, _, _>(make, arguments)
    }

    /// A map of the values that a closure makes, with the same hash function, so that each key stays where it is.
    #[track_caller]
    fn made_of_each<N, C: NoRef + Clone, U: 'static, F, G>(&self, make: F, arguments: C) -> DistMap<K, U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &V) -> Option<U>,
    {
        require_fiber("par_map");
        let make = move |part: &OwnEntries<K, V>, (hashing, arguments): (Hashing, C)| {
            let (make, mut made) = (make(arguments), Entries::new(hashing));
            part.for_each(|key, value| {
                if let Some(value) = make(key, value) {
                    made.entry(hashing.hash(key), key.clone(), value);
                }
            });
            entrust(made)
        };
        let shards = self.on_parts::<N, _, _, _>(make, (self.hashing, arguments));
        DistMap { shards: Sharded::of(shards), hashing: self.hashing }
    }
}
