//! Removing keys by what they are.

use crate::NoRef;
use crate::collections::DistSet;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;

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
    /// If the closure panics: its worker stops there, and the others finish what they have begun. Where the caller
    /// cannot wait.
    #[track_caller]
    pub fn retain<F>(&self, keep: F)
    where
        F: FnOnce(&K) -> bool + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.as_map().retain_around::<F, _, _>(move |key, (), ()| keep(key), ());
    }

    /// Like [`retain`](Self::retain), with a clone of `arguments` for each key.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::DistSet::new();
    /// numbers.extend(0..10_u64);
    /// numbers.retain_with(|number, least| *number >= least, 7);
    /// assert_eq!(numbers.len(), 3);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`retain`](Self::retain).
    #[track_caller]
    pub fn retain_with<C: NoRef + Clone, F>(&self, keep: F, arguments: C)
    where
        F: FnOnce(&K, C) -> bool + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.as_map().retain_around::<F, _, _>(move |key, (), arguments| keep(key, arguments), arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __retain_with<C: Captured + Clone, F>(&self, arguments: C, keep: F)
    where
        F: FnOnce(&K, C) -> bool + Send + Copy + 'static,
    {
        self.retain_with(keep, arguments);
    }
}
