//! The sorting methods of [`DistVec`].

use crate::collections::DistVec;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, WithoutCaptures};
use std::cmp::Ordering;

/// # Sorting
/// Each worker sorts its elements; then the caller finds out where to cut each part, and elements that belong to
/// another worker go there and are merged with the rest. So an element moves at most once, and each worker keeps its
/// number of elements. The stable sorts keep the order of equal elements; the unstable ones are somewhat faster.
///
/// Cost: with `w` workers and `n` elements, finding the cuts takes about `5 log2 n` rounds of requests, each one
/// request to each worker with `w - 1` elements; then there is a request for each pair of workers, with the elements
/// that move between them, and a fiber on each worker. While a worker sorts or merges it serves nobody, and uses
/// two and a half times the memory of its elements. A vector that is not in blocks is [put into
/// blocks](Self::with_layout) first, and back afterwards, which takes four times the memory.
///
/// Concurrent changes by others may be lost, or make the sort panic. A second sort while another fiber sorts the vector panics, and names the
/// line of the first. If the closure panics, or the caller is cancelled, all elements are still there, in some order.
/// An order that is not total results in some order or a panic, as with slices.
impl<T: NoRef + Clone> DistVec<T> {
    /// Sorts the elements; equal elements keep their order ([Sorting](Self#sorting)).
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
    /// If a comparison panics.
    #[track_caller]
    pub fn par_sort(&self)
    where
        T: Ord,
    {
        let compare = const { |()| |one: &T, other: &T| one.cmp(other) };
        self.sort_as_is(true, compare);
    }

    /// Sorts the elements as a closure compares them; equal elements keep their order ([Sorting](Self#sorting)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let digits = gossamer::collections::DistVec::from_slice(&[3, 1, 4, 1, 5, 9]);
    /// digits.par_sort_by(|one, other| other.cmp(one)); // the largest first
    /// assert_eq!(digits.to_vec(), [9, 5, 4, 3, 1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics.
    #[track_caller]
    pub fn par_sort_by<F>(&self, compare: F)
    where
        F: FnOnce(&T, &T) -> Ordering + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.sort_around::<F, _, _, _>(true, move |()| move |one, other| compare(one, other), ());
    }

    /// Like [`par_sort_by`](Self::par_sort_by), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let places = DistVec::from_slice(&[3.0, 1.0, 4.0, 9.0]);
    /// let nearer = |one: &f64, other: &f64, to: &f64| (one - to).abs().total_cmp(&(other - to).abs());
    /// places.par_sort_by_with(nearer, 3.5);
    /// assert_eq!(places.to_vec(), [3.0, 4.0, 1.0, 9.0]); // 3 and 4 are equally near
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_sort_by`](Self::par_sort_by).
    #[track_caller]
    pub fn par_sort_by_with<C: NoRef + Clone, F>(&self, compare: F, arguments: C)
    where
        F: Fn(&T, &T, &C) -> Ordering + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |one: &T, other: &T| compare(one, other, &arguments);
        self.sort_around::<F, _, _, _>(true, lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_sort_by_with<C: Captured + Clone, F, G>(&self, arguments: C, compare: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T, &T) -> Ordering,
    {
        const { refuse_captures::<F>() };
        self.sort_around::<F, _, _, _>(true, compare, arguments);
    }

    /// Sorts the elements by the keys that a closure gives them, which is called for each comparison; equal elements keep their order ([Sorting](Self#sorting)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let digits = gossamer::collections::DistVec::from_slice(&[3, 1, 4, 1, 5, 9]);
    /// digits.par_sort_by_key(|number| std::cmp::Reverse(*number)); // the largest first
    /// assert_eq!(digits.to_vec(), [9, 5, 4, 3, 1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics.
    #[track_caller]
    pub fn par_sort_by_key<K: Ord, F>(&self, key: F)
    where
        F: FnOnce(&T) -> K + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.sort_by_key_around::<F, _, _, _, _>(true, move |()| move |element| key(element), ());
    }

    /// Like [`par_sort_by_key`](Self::par_sort_by_key), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let digits = gossamer::collections::DistVec::from_slice(&[3, 1, 4, 1, 5, 9]);
    /// digits.par_sort_by_key_with(|digit, modulus: &u64| *digit % modulus, 3); // 0, 0, then 1, 1, 1, then 2
    /// assert_eq!(digits.to_vec(), [3, 9, 1, 4, 1, 5]); // equal keys keep their order
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_sort_by_key`](Self::par_sort_by_key).
    #[track_caller]
    pub fn par_sort_by_key_with<C: NoRef + Clone, K: Ord, F>(&self, key: F, arguments: C)
    where
        F: Fn(&T, &C) -> K + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |element: &T| key(element, &arguments);
        self.sort_by_key_around::<F, _, _, _, _>(true, lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_sort_by_key_with<C: Captured + Clone, K: Ord, F, G>(&self, arguments: C, key: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T) -> K,
    {
        const { refuse_captures::<F>() };
        self.sort_by_key_around::<F, _, _, _, _>(true, key, arguments);
    }

    /// Sorts the elements; the order of equal elements is not defined ([Sorting](Self#sorting)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let digits = gossamer::collections::DistVec::from_slice(&[3, 1, 4, 1, 5, 9]);
    /// digits.par_sort_unstable();
    /// assert_eq!(digits.to_vec(), [1, 1, 3, 4, 5, 9]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If a comparison panics.
    #[track_caller]
    pub fn par_sort_unstable(&self)
    where
        T: Ord,
    {
        let compare = const { |()| |one: &T, other: &T| one.cmp(other) };
        self.sort_as_is(false, compare);
    }

    /// Sorts the elements as a closure compares them; the order of equal elements is not defined ([Sorting](Self#sorting)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let digits = gossamer::collections::DistVec::from_slice(&[3, 1, 4, 1, 5, 9]);
    /// digits.par_sort_unstable_by(|one, other| other.cmp(one)); // the largest first
    /// assert_eq!(digits.to_vec(), [9, 5, 4, 3, 1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics.
    #[track_caller]
    pub fn par_sort_unstable_by<F>(&self, compare: F)
    where
        F: FnOnce(&T, &T) -> Ordering + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.sort_around::<F, _, _, _>(false, move |()| move |one, other| compare(one, other), ());
    }

    /// Like [`par_sort_unstable_by`](Self::par_sort_unstable_by), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let numbers = DistVec::from_slice(&[13, 21, 34, 55]);
    /// numbers.par_sort_unstable_by_with(|one, other, divisor| (one % divisor).cmp(&(other % divisor)), 10);
    /// assert_eq!(numbers.to_vec(), [21, 13, 34, 55]); // by their last digits
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_sort_unstable_by`](Self::par_sort_unstable_by).
    #[track_caller]
    pub fn par_sort_unstable_by_with<C: NoRef + Clone, F>(&self, compare: F, arguments: C)
    where
        F: Fn(&T, &T, &C) -> Ordering + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |one: &T, other: &T| compare(one, other, &arguments);
        self.sort_around::<F, _, _, _>(false, lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_sort_unstable_by_with<C: Captured + Clone, F, G>(&self, arguments: C, compare: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T, &T) -> Ordering,
    {
        const { refuse_captures::<F>() };
        self.sort_around::<F, _, _, _>(false, compare, arguments);
    }

    /// Sorts the elements by the keys that a closure gives them, which is called for each comparison; the order of equal elements is not defined ([Sorting](Self#sorting)).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let digits = gossamer::collections::DistVec::from_slice(&[3, 1, 4, 1, 5, 9]);
    /// digits.par_sort_unstable_by_key(|number| std::cmp::Reverse(*number)); // the largest first
    /// assert_eq!(digits.to_vec(), [9, 5, 4, 3, 1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics.
    #[track_caller]
    pub fn par_sort_unstable_by_key<K: Ord, F>(&self, key: F)
    where
        F: FnOnce(&T) -> K + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.sort_by_key_around::<F, _, _, _, _>(false, move |()| move |element| key(element), ());
    }

    /// Like [`par_sort_unstable_by_key`](Self::par_sort_unstable_by_key), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let numbers = DistVec::from_slice(&[13, 21, 34, 55]);
    /// numbers.par_sort_unstable_by_key_with(|number, divisor| number % divisor, 10);
    /// assert_eq!(numbers.to_vec(), [21, 13, 34, 55]); // by their last digits
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_sort_unstable_by_key`](Self::par_sort_unstable_by_key).
    #[track_caller]
    pub fn par_sort_unstable_by_key_with<C: NoRef + Clone, K: Ord, F>(&self, key: F, arguments: C)
    where
        F: Fn(&T, &C) -> K + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |element: &T| key(element, &arguments);
        self.sort_by_key_around::<F, _, _, _, _>(false, lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_sort_unstable_by_key_with<C: Captured + Clone, K: Ord, F, G>(&self, arguments: C, key: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T) -> K,
    {
        const { refuse_captures::<F>() };
        self.sort_by_key_around::<F, _, _, _, _>(false, key, arguments);
    }

    #[track_caller]
    fn sort_by_key_around<N, K: Ord, C: NoRef + Clone, F, G>(&self, is_stable: bool, key: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T) -> K,
    {
        let compare = move |arguments| {
            let key = key(arguments);
            move |one: &T, other: &T| key(one).cmp(&key(other))
        };
        self.sort_around::<N, _, _, _>(is_stable, compare, arguments);
    }

    #[track_caller]
    fn sort_as_is<F, G>(&self, is_stable: bool, compare: F)
    where
        F: FnOnce(()) -> G + Send + Copy + 'static,
        G: Fn(&T, &T) -> Ordering,
    {
        self.sort_around::<F, _, _, _>(is_stable, compare, ());
    }
}
