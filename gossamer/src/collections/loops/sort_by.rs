//! The forms of sorting a [`DistVec`].

use crate::NoRef;
use crate::collections::DistVec;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use std::cmp::Ordering;

/// # Sorting
/// Each worker sorts its elements; then it is found out where each is to be cut, and what belongs to another worker goes there, where it is merged
/// with the rest. So an element moves at most once, and each worker has as many as before. The stable sorts keep equal elements in their order; the
/// unstable ones are somewhat faster.
///
/// Cost: with `w` workers and `n` elements some `5 log2 n` rounds of requests, each of them one to each worker with `w - 1` elements, to find
/// where to cut; then a request for each pair of workers, with what goes from the one to the other, and three fibers on each. A
/// worker that sorts, or merges, serves nobody meanwhile, and has room for its elements twice and a half. A vector that is not in blocks is
/// [put into blocks](Self::with_layout) before, and out of them after.
///
/// What others change meanwhile may be lost. If the closure panics the elements are all there, in some order. An order that is not
/// total gives some order, or a panic, as with slices.
impl<T: NoRef + Clone> DistVec<T> {
    /// Sorts the elements; equal elements stay in their order ([Sorting](Self#sorting)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let letters: gossamer::collections::DistVec<_> = "gossamer".chars().collect();
    /// letters.par_sort();
    /// assert_eq!(letters.to_vec().iter().collect::<String>(), "aegmorss");
    /// # });
    /// ```
    ///
    /// # Panics
    /// If a comparison does.
    #[track_caller]
    pub fn par_sort(&self)
    where
        T: Ord,
    {
        let compare = const { |one: &T, other: &T, ()| one.cmp(other) };
        self.sort_as_is(true, compare);
    }

    /// Sorts the elements as a closure compares them; equal elements stay in their order ([Sorting](Self#sorting)).
    ///
    /// # Panics
    /// If the closure does.
    #[track_caller]
    pub fn par_sort_by<F>(&self, compare: F)
    where
        F: FnOnce(&T, &T) -> Ordering + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.sort_around::<F, _, _>(true, move |one, other, ()| compare(one, other), ());
    }

    /// As [`par_sort_by`](Self::par_sort_by), with a clone of `arguments` for each comparison.
    ///
    /// # Panics
    /// As [`par_sort_by`](Self::par_sort_by).
    #[track_caller]
    pub fn par_sort_by_with<C: NoRef + Clone, F>(&self, compare: F, arguments: C)
    where
        F: FnOnce(&T, &T, C) -> Ordering + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.sort_around::<F, _, _>(true, compare, arguments);
    }

    /// As the macros write it (`trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_sort_by_with<C: Captured + Clone, F>(&self, arguments: C, compare: F)
    where
        F: FnOnce(&T, &T, C) -> Ordering + Send + Copy + 'static,
    {
        self.par_sort_by_with(compare, arguments);
    }

    /// Sorts the elements by the keys that a closure gives them, which is called for each comparison; equal elements stay in their order ([Sorting](Self#sorting)).
    ///
    /// # Panics
    /// If the closure does.
    #[track_caller]
    pub fn par_sort_by_key<K: Ord, F>(&self, key: F)
    where
        F: FnOnce(&T) -> K + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        let compare = move |one: &T, other: &T, ()| key(one).cmp(&key(other));
        self.sort_around::<F, _, _>(true, compare, ());
    }

    /// As [`par_sort_by_key`](Self::par_sort_by_key), with a clone of `arguments` for each call.
    ///
    /// # Panics
    /// As [`par_sort_by_key`](Self::par_sort_by_key).
    #[track_caller]
    pub fn par_sort_by_key_with<K: Ord, C: NoRef + Clone, F>(&self, key: F, arguments: C)
    where
        F: FnOnce(&T, C) -> K + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        let compare =
            move |one: &T, other: &T, arguments: C| key(one, arguments.clone()).cmp(&key(other, arguments));
        self.sort_around::<F, _, _>(true, compare, arguments);
    }

    /// As the macros write it (`trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_sort_by_key_with<K: Ord, C: Captured + Clone, F>(&self, arguments: C, key: F)
    where
        F: FnOnce(&T, C) -> K + Send + Copy + 'static,
    {
        self.par_sort_by_key_with(key, arguments);
    }

    /// Sorts the elements; equal elements come in any order ([Sorting](Self#sorting)).
    ///
    /// # Panics
    /// If a comparison does.
    #[track_caller]
    pub fn par_sort_unstable(&self)
    where
        T: Ord,
    {
        let compare = const { |one: &T, other: &T, ()| one.cmp(other) };
        self.sort_as_is(false, compare);
    }

    /// Sorts the elements as a closure compares them; equal elements come in any order ([Sorting](Self#sorting)).
    ///
    /// # Panics
    /// If the closure does.
    #[track_caller]
    pub fn par_sort_unstable_by<F>(&self, compare: F)
    where
        F: FnOnce(&T, &T) -> Ordering + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.sort_around::<F, _, _>(false, move |one, other, ()| compare(one, other), ());
    }

    /// As [`par_sort_unstable_by`](Self::par_sort_unstable_by), with a clone of `arguments` for each comparison.
    ///
    /// # Panics
    /// As [`par_sort_unstable_by`](Self::par_sort_unstable_by).
    #[track_caller]
    pub fn par_sort_unstable_by_with<C: NoRef + Clone, F>(&self, compare: F, arguments: C)
    where
        F: FnOnce(&T, &T, C) -> Ordering + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.sort_around::<F, _, _>(false, compare, arguments);
    }

    /// As the macros write it (`trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_sort_unstable_by_with<C: Captured + Clone, F>(&self, arguments: C, compare: F)
    where
        F: FnOnce(&T, &T, C) -> Ordering + Send + Copy + 'static,
    {
        self.par_sort_unstable_by_with(compare, arguments);
    }

    /// Sorts the elements by the keys that a closure gives them, which is called for each comparison; equal elements come in any order ([Sorting](Self#sorting)).
    ///
    /// # Panics
    /// If the closure does.
    #[track_caller]
    pub fn par_sort_unstable_by_key<K: Ord, F>(&self, key: F)
    where
        F: FnOnce(&T) -> K + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        let compare = move |one: &T, other: &T, ()| key(one).cmp(&key(other));
        self.sort_around::<F, _, _>(false, compare, ());
    }

    /// As [`par_sort_unstable_by_key`](Self::par_sort_unstable_by_key), with a clone of `arguments` for each call.
    ///
    /// # Panics
    /// As [`par_sort_unstable_by_key`](Self::par_sort_unstable_by_key).
    #[track_caller]
    pub fn par_sort_unstable_by_key_with<K: Ord, C: NoRef + Clone, F>(&self, key: F, arguments: C)
    where
        F: FnOnce(&T, C) -> K + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        let compare =
            move |one: &T, other: &T, arguments: C| key(one, arguments.clone()).cmp(&key(other, arguments));
        self.sort_around::<F, _, _>(false, compare, arguments);
    }

    /// As the macros write it (`trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_sort_unstable_by_key_with<K: Ord, C: Captured + Clone, F>(&self, arguments: C, key: F)
    where
        F: FnOnce(&T, C) -> K + Send + Copy + 'static,
    {
        self.par_sort_unstable_by_key_with(key, arguments);
    }

    #[track_caller]
    fn sort_as_is<F>(&self, is_stable: bool, compare: F)
    where
        F: FnOnce(&T, &T, ()) -> Ordering + Send + Copy + 'static,
    {
        self.sort_around::<F, _, _>(is_stable, compare, ());
    }
}
