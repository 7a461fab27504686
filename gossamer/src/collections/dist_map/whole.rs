//! All entries, in place: a few requests for each worker.

use crate::collections::dist_map::{DistMap, Entries};
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Trustee, WithoutCaptures};

impl<K: 'static, V: 'static> DistMap<K, V> {
    /// The number of entries. One request for each worker; entries that are inserted or removed meanwhile may or may
    /// not count.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// assert_eq!(squares.len(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait ([Panics](Self#panics)).
    #[track_caller]
    pub fn len(&self) -> usize {
        require_fiber("len");
        self.map_all(Entries::len_of).into_iter().sum()
    }

    /// Whether the map is empty. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let map = gossamer::collections::DistMap::new();
    /// assert!(map.is_empty());
    /// map.insert("tea".to_owned(), 7);
    /// assert!(!map.is_empty());
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`len`](Self::len).
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        require_fiber("is_empty");
        self.len() == 0
    }

    /// Removes all entries, and frees their memory. One request for each worker, which drops its entries without a
    /// pause.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// squares.clear();
    /// assert!(squares.is_empty());
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`len`](Self::len).
    #[track_caller]
    pub fn clear(&self) {
        require_fiber("clear");
        self.map_all(Entries::clear);
    }

    /// The workers that have the entries. A worker may be listed twice.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// assert_eq!(squares.trustees().len(), 2);
    /// # });
    /// ```
    pub fn trustees(&self) -> Vec<Trustee> {
        self.shards.shards().iter().map(|entries| entries.trustee()).collect()
    }

    /// Applies a closure to the entries of each worker, all at once, and returns the results in the order of
    /// [`trustees`](Self::trustees). One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let ages = gossamer::collections::DistMap::new();
    /// [("Ada", 36), ("Alan", 41)].map(|(name, age)| ages.insert(name.to_owned(), age));
    /// let oldest = ages.map_all(|ages| ages.iter().map(|(_, age)| *age).max());
    /// assert_eq!(oldest.into_iter().max(), Some(Some(41)));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics ([Panics](Self#panics)).
    #[track_caller]
    pub fn map_all<U: NoRef, F>(&self, closure: F) -> Vec<U>
    where
        F: FnOnce(&mut Entries<K, V>) -> U + Send + WithoutCaptures + 'static,
    {
        self.shards.map_all(closure)
    }

    /// Like [`map_all`](Self::map_all), with a clone of `arguments` passed to the closure at each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// let above: usize = squares.map_all_with(|own, bound| own.iter().filter(|(_, square)| **square > bound).count(), 5).iter().sum();
    /// assert_eq!(above, 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`map_all`](Self::map_all).
    #[track_caller]
    pub fn map_all_with<C: NoRef + Clone, U: NoRef, F>(&self, closure: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&mut Entries<K, V>, C) -> U + Send + WithoutCaptures + 'static,
    {
        self.shards.map_all_with(closure, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __map_all_with<C: Captured + Clone, U: NoRef, F>(&self, arguments: C, closure: F) -> Vec<U>
    where
        F: FnOnce(&mut Entries<K, V>, C) -> U + Send + Copy + 'static,
    {
        self.map_all_with(closure, arguments)
    }

    /// Calls a closure with each key and its value, on all workers that have any, at once, and waits until that is
    /// done.
    ///
    /// Each worker visits some thousands of entries, for 100 us or more, then serves the requests of others, and goes
    /// on. Entries that are there all the time are visited once; those that are added or removed meanwhile at most
    /// once, where an entry that is removed and added again counts as a new one.
    ///
    /// ```
    /// use gossamer::collections::DistMap;
    ///
    /// #[gossamer::delegate]
    /// fn add(scores: &DistMap<char, u64>, by: u64) {
    ///     scores.par_for_each(|_, score| *score += by);
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let scores = DistMap::new();
    /// scores.insert('a', 1);
    /// add(&scores, 10);
    /// assert_eq!(scores.get('a'), Some(11));
    /// # });
    /// ```
    ///
    /// # Cost
    /// A request to each worker, with the captures of the closure, and 16 bytes back. Where that is not over after one
    /// turn, a fiber on each worker, which is sent the captures once more. Each call borrows them.
    ///
    /// # Panics
    /// If the closure panics: its worker stops there, and the others when they have finished their turn
    /// ([Panics](Self#panics)).
    #[track_caller]
    pub fn par_for_each<F>(&self, closure: F)
    where
        F: FnOnce(&K, &mut V) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.for_each_around::<F, _, _, _>(move |()| move |key, value| closure(key, value), ());
    }

    /// Like [`par_for_each`](Self::par_for_each), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// squares.par_for_each_with(|_, square, by| *square += by, 1);
    /// assert_eq!(squares.get(3), Some(10));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_for_each`](Self::par_for_each).
    #[track_caller]
    pub fn par_for_each_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C)
    where
        F: Fn(&K, &mut V, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |key: &K, value: &mut V| closure(key, value, &arguments);
        self.for_each_around::<F, _, _, _>(lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_for_each_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &mut V),
    {
        const { refuse_captures::<F>() };
        self.for_each_around::<F, _, _, _>(closure, arguments);
    }

    #[track_caller]
    fn for_each_around<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &mut V),
    {
        require_fiber("par_for_each");
        let visit = move |arguments| {
            let closure = closure(arguments);
            move |entries: &mut Entries<K, V>, position| {
                let (bucket, next) = entries.at_mut(position);
                bucket.iter_mut().for_each(|(key, value)| closure(key, value));
                next
            }
        };
        self.in_turns::<N, _, _, _>(visit, arguments);
    }

    /// Removes the entries for which a closure returns `false`, on all workers at once.
    ///
    /// It takes turns like [`par_for_each`](Self::par_for_each), and costs the same. The macros tell this method from
    /// that of a `Vec` where they see that it is called on a map: on a variable that is declared as one or comes from
    /// [`new`](Self::new), for example. For another map, such as a field, write `DistMap::retain(&self.map, |…| …)`, or
    /// use [`retain_with`](Self::retain_with), which passes arguments to its closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares = gossamer::collections::DistMap::new();
    /// (0..10).for_each(|number: u64| drop(squares.insert(number, number * number)));
    /// squares.retain(|_number, square| *square % 2 == 0);
    /// assert_eq!(squares.len(), 5);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_for_each`](Self::par_for_each).
    #[track_caller]
    pub fn retain<F>(&self, keep: F)
    where
        F: FnOnce(&K, &mut V) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.retain_around::<F, _, _, _>(move |()| move |key, value| keep(key, value), ());
    }

    /// Like [`retain`](Self::retain), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::DistMap::new();
    /// (0..100).for_each(|number| _ = numbers.insert(number, number * number));
    /// let least = 50;
    /// numbers.retain_with(|number, _, least| number >= least, least);
    /// assert_eq!((numbers.len(), numbers.get(49), numbers.get(50)), (50, None, Some(2500)));
    /// # });
    /// ```
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let squares = DistMap::new();
    /// squares.insert(3_u64, 9_u64);
    /// squares.retain_with(|_, square, bound| *square > *bound, 10);
    /// assert!(squares.is_empty());
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_for_each`](Self::par_for_each).
    #[track_caller]
    pub fn retain_with<C: NoRef + Clone, F>(&self, keep: F, arguments: C)
    where
        F: Fn(&K, &mut V, &C) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |key: &K, value: &mut V| keep(key, value, &arguments);
        self.retain_around::<F, _, _, _>(lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __retain_with<C: Captured + Clone, F, G>(&self, arguments: C, keep: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &mut V) -> bool,
    {
        const { refuse_captures::<F>() };
        self.retain_around::<F, _, _, _>(keep, arguments);
    }

    #[track_caller]
    pub(in crate::collections) fn retain_around<N, C: NoRef + Clone, F, G>(&self, keep: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &mut V) -> bool,
    {
        require_fiber("retain");
        let visit = move |arguments| {
            let keep = keep(arguments);
            move |entries: &mut Entries<K, V>, position| entries.retain_at(position, &keep)
        };
        self.in_turns::<N, _, _, _>(visit, arguments);
    }
}
