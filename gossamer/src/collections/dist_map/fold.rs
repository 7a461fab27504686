//! [`DistMap::par_fold`] and [`DistMap::par_map_reduce`]: folding all entries into one value.

use crate::collections::dist_map::DistMap;
use crate::collections::dist_map::parts::OwnEntries;
use crate::lane::operation::refuse_captures;
use crate::trust::require_constant;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures};

impl<K: 'static, V: 'static> DistMap<K, V> {
    /// Folds the entries of each worker: the closure turns `initial` and the first entry into a value, that and the
    /// next entry into the next value, and so on. Returns the last value of each worker, in the order of
    /// [`trustees`](Self::trustees); the caller combines them.
    ///
    /// The entries are in no order.
    ///
    /// ```
    /// use gossamer::collections::DistMap;
    ///
    /// #[gossamer::delegate]
    /// fn above(balances: &DistMap<u64, i64>, least: i64) -> i64 {
    ///     let sums = balances.par_fold(0, |sum, _, balance| sum + (balance - least).max(0));
    ///     sums.into_iter().sum()
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let balances = DistMap::new();
    /// [(1, 50), (2, -7), (3, 30)].map(|(account, balance)| balances.insert(account, balance));
    /// assert_eq!(above(&balances, 20), 40);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`par_map`](Self::par_map); the value of each worker comes back.
    ///
    /// # Panics
    /// Like [`par_map`](Self::par_map).
    #[track_caller]
    pub fn par_fold<A: NoRef + Clone, F>(&self, initial: A, closure: F) -> Vec<A>
    where
        F: FnOnce(A, &K, &V) -> A + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let fold = move |()| move |before, key: &K, value: &V| closure(before, key, value);
        self.fold_around::<F, _, _, _, _>(initial, fold, ())
    }

    /// Like [`par_fold`](Self::par_fold), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let balances = DistMap::new();
    /// [(1, 50), (2, -7), (3, 30)].map(|(account, balance)| balances.insert(account, balance));
    /// let sums = balances.par_fold_with(0, |sum, _, balance, least| sum + (balance - least).max(0), 20);
    /// assert_eq!(sums.into_iter().sum::<i64>(), 40); // one sum of each worker
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_map`](Self::par_map).
    #[track_caller]
    pub fn par_fold_with<C: NoRef + Clone, A: NoRef + Clone, F>(
        &self,
        initial: A,
        closure: F,
        arguments: C,
    ) -> Vec<A>
    where
        F: Fn(A, &K, &V, &C) -> A + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend =
            move |arguments: C| move |before, key: &K, value: &V| closure(before, key, value, &arguments);
        self.fold_around::<F, _, _, _, _>(initial, lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_fold_with<C: Captured + Clone, A: NoRef + Clone, F, G>(
        &self,
        initial: A,
        arguments: C,
        closure: F,
    ) -> Vec<A>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(A, &K, &V) -> A,
    {
        const { refuse_captures::<F>() };
        self.fold_around::<F, _, _, _, _>(initial, closure, arguments)
    }

    #[track_caller]
    fn fold_around<N, A: NoRef + Clone, C: NoRef + Clone, F, G>(
        &self,
        initial: A,
        closure: F,
        arguments: C,
    ) -> Vec<A>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(A, &K, &V) -> A,
    {
        require_fiber("par_fold");
        let fold = move |part: &OwnEntries<K, V>, (initial, arguments): (A, C)| {
            let (closure, mut folded) = (closure(arguments), Some(initial));
            part.for_each(|key, value| {
                // The value is only absent while the closure has it.
                let before = folded.take();
                folded = before.map(|before| closure(before, key, value));
            });
            folded
        };
        self.on_parts::<N, _, _, _>(fold, (initial, arguments)).into_iter().flatten().collect()
    }

    /// Maps each key and its value with one closure, and reduces the results with another; `None` if there are no
    /// entries.
    ///
    /// The entries are in no particular order, so the second closure must be associative and commutative. It captures
    /// nothing. A marked function makes it a constant, like the first; elsewhere it can go to other nodes if it is
    /// written `const { |one, other| … }`, or is a plain `fn`.
    ///
    /// ```
    /// use gossamer::collections::DistMap;
    ///
    /// #[gossamer::delegate]
    /// fn longest(names: &DistMap<u64, String>, least: usize) -> Option<usize> {
    ///     names.par_map_reduce(|_, name| name.len().max(least), |one, other| one.max(other))
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let names = DistMap::new();
    /// [(1, "Ada"), (2, "Grace")].map(|(number, name)| names.insert(number, name.to_owned()));
    /// assert_eq!(longest(&names, 2), Some(5));
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`par_fold`](Self::par_fold).
    ///
    /// # Panics
    /// Like [`par_map`](Self::par_map).
    #[track_caller]
    pub fn par_map_reduce<U: NoRef, F, R>(&self, map: F, reduce: R) -> Option<U>
    where
        F: FnOnce(&K, &V) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.map_reduce_around::<F, _, _, _, _, _>(move |()| move |key, value| map(key, value), (), reduce)
    }

    /// Like [`par_map_reduce`](Self::par_map_reduce), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistMap;
    /// let prices = DistMap::new();
    /// [("tea", 3), ("milk", 1)].map(|(name, price)| prices.insert(name.to_owned(), price));
    /// let of_crate = |_: &String, price: &u64, pieces: &u64| price * pieces;
    /// let dearest = prices.par_map_reduce_with(of_crate, 12, |one, other| one.max(other));
    /// assert_eq!(dearest, Some(36));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_map`](Self::par_map).
    #[track_caller]
    pub fn par_map_reduce_with<C: NoRef + Clone, U: NoRef, F, R>(
        &self,
        map: F,
        arguments: C,
        reduce: R,
    ) -> Option<U>
    where
        F: Fn(&K, &V, &C) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |key: &K, value: &V| map(key, value, &arguments);
        self.map_reduce_around::<F, _, _, _, _, _>(lend, arguments, reduce)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_map_reduce_with<C: Captured + Clone, U: NoRef, F, G, R>(
        &self,
        arguments: C,
        map: F,
        reduce: R,
    ) -> Option<U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &V) -> U,
        R: FnOnce(U, U) -> U + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.map_reduce_around::<F, _, _, _, _, _>(map, arguments, reduce)
    }

    #[track_caller]
    fn map_reduce_around<N, C: NoRef + Clone, U: NoRef, F, G, R>(
        &self,
        map: F,
        arguments: C,
        reduce: R,
    ) -> Option<U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K, &V) -> U,
        R: FnOnce(U, U) -> U + Send + Copy + 'static,
    {
        require_fiber("par_map_reduce");
        const { refuse_captures::<R>() };
        require_constant::<R>(self.parts().iter().map(|part| part.trustee()), "par_map_reduce");
        let of_part = move |part: &OwnEntries<K, V>, arguments: C| {
            let (map, mut reduced) = (map(arguments), None::<U>);
            part.for_each(|key, value| {
                let mapped = map(key, value);
                reduced = Some(match reduced.take() {
                    Some(before) => reduce(before, mapped),
                    None => mapped,
                });
            });
            reduced
        };
        let reduced = self.on_parts::<N, _, _, _>(of_part, arguments);
        reduced.into_iter().flatten().reduce(|one, other| reduce(one, other))
    }
}
