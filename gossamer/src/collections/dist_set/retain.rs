//! Removing keys by what they are.

use crate::collections::DistSet;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, WithoutCaptures};

impl<K: 'static> DistSet<K> {
    /// Removes the keys for which a closure returns `false`, on all workers at once: like
    /// [`DistMap::retain`](crate::collections::DistMap::retain), with the same rules for the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::DistSet::new();
    /// numbers.extend(0..10_u64);
    /// numbers.retain(|number| *number % 2 == 0);
    /// assert_eq!(numbers.len(), 5);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics: its worker stops there, and the others when they have finished their turn. Where the
    /// caller cannot wait.
    #[track_caller]
    pub fn retain<F>(&self, keep: F)
    where
        F: FnOnce(&K) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.as_map().retain_around::<F, _, _, _>(move |()| move |key, ()| keep(key), ());
    }

    /// Like [`retain`](Self::retain), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::DistSet::new();
    /// numbers.extend(0..10_u64);
    /// numbers.retain_with(|number, least| number >= least, 7);
    /// assert_eq!(numbers.len(), 3);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`retain`](Self::retain).
    #[track_caller]
    pub fn retain_with<C: NoRef + Clone, F>(&self, keep: F, arguments: C)
    where
        F: Fn(&K, &C) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |key: &K, (): &mut ()| keep(key, &arguments);
        self.as_map().retain_around::<F, _, _, _>(lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __retain_with<C: Captured + Clone, F, G>(&self, arguments: C, keep: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&K) -> bool,
    {
        const { refuse_captures::<F>() };
        let make = move |arguments| {
            let keep = keep(arguments);
            move |key: &K, (): &mut ()| keep(key)
        };
        self.as_map().retain_around::<F, _, _, _>(make, arguments);
    }
}
