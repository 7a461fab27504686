//! [`IndexRange`]: a loop over numbers, on some of the workers.

use crate::collections::par_fold::{fold_around, map_reduce_around};
use crate::collections::par_for_each::for_each_around;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, Trustee, WithoutCaptures};
use std::ops::Range;

/// A range of numbers, and the workers among which loops share them out. For all workers of all nodes there are the
/// functions [`par_for_each`](crate::collections::par_for_each), [`par_fold`](crate::collections::par_fold) and
/// [`par_map_reduce`](crate::collections::par_map_reduce), which need none.
///
/// ```
/// use gossamer::Trustee;
/// use gossamer::collections::IndexRange;
///
/// #[gossamer::delegate]
/// fn sum(numbers: &IndexRange, factor: usize) -> Option<usize> {
///     numbers.par_map_reduce(|number| factor * number, |one, other| one + other)
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(3), || {
/// let others = &Trustee::all()[1..];
/// assert_eq!(sum(&IndexRange::from(1..101).on(others), 2), Some(10_100));
/// # });
/// ```
#[derive(Clone, Debug)]
pub struct IndexRange {
    numbers: Range<usize>,
    trustees: Option<Vec<Trustee>>,
}

impl IndexRange {
    /// The same numbers, for these workers instead of all workers of all nodes. A worker that is listed twice gets two
    /// fibers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, collections::IndexRange};
    /// let other = Trustee::all()[1];
    /// IndexRange::from(0..100).on(&[other]).par_for_each(|_| assert_eq!(Trustee::here().index(), 1));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `trustees` is empty.
    #[must_use]
    #[track_caller]
    pub fn on(mut self, trustees: &[Trustee]) -> Self {
        assert!(!trustees.is_empty(), "a loop on no workers cannot go through its numbers");
        self.trustees = Some(trustees.to_vec());
        self
    }

    /// Its numbers, and its workers if not all.
    pub(super) fn into_parts(self) -> (Range<usize>, Option<Vec<Trustee>>) {
        (self.numbers, self.trustees)
    }

    /// Like the function [`par_for_each`](crate::collections::par_for_each), on these workers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, collections::IndexRange};
    /// let here = [Trustee::here()];
    /// IndexRange::from(0..100).on(&here).par_for_each(|number| assert!(number < 100));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like the function.
    #[track_caller]
    pub fn par_for_each<F>(&self, closure: F)
    where
        F: FnOnce(usize) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        for_each_around::<F, _, _, _>(self.clone(), move |()| move |number| closure(number), ());
    }

    /// Like [`par_for_each`](Self::par_for_each), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistCounter, IndexRange};
    /// let (numbers, sum) = (IndexRange::from(0..100), DistCounter::new());
    /// numbers.par_for_each_with(|number, sum: &DistCounter| sum.add(number as u64), sum.clone());
    /// assert_eq!(sum.sum(), 4950);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like the function.
    #[track_caller]
    pub fn par_for_each_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C)
    where
        F: Fn(usize, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |number| closure(number, &arguments);
        for_each_around::<F, _, _, _>(self.clone(), lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_for_each_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize),
    {
        const { refuse_captures::<F>() };
        for_each_around::<F, _, _, _>(self.clone(), closure, arguments);
    }

    /// Like the function [`par_fold`](crate::collections::par_fold), on these workers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, collections::IndexRange};
    /// let numbers = IndexRange::from(0..100).on(&[Trustee::here()]);
    /// let sums = numbers.par_fold(0, |sum, number| sum + number);
    /// assert_eq!(sums.into_iter().sum::<usize>(), 4950);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like the function.
    #[track_caller]
    pub fn par_fold<A: NoRef + Clone, F>(&self, initial: A, closure: F) -> Vec<A>
    where
        F: FnOnce(A, usize) -> A + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let plain = move |()| move |before, number| closure(before, number);
        fold_around::<F, _, _, _, _>(self.clone(), initial, plain, ())
    }

    /// Like [`par_fold`](Self::par_fold), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::IndexRange::from(0..100);
    /// let sums = numbers.par_fold_with(0, |sum, number, by: &usize| sum + number / by, 10);
    /// assert_eq!(sums.into_iter().sum::<usize>(), 450);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like the function.
    #[track_caller]
    pub fn par_fold_with<C: NoRef + Clone, A: NoRef + Clone, F>(
        &self,
        initial: A,
        closure: F,
        arguments: C,
    ) -> Vec<A>
    where
        F: Fn(A, usize, &C) -> A + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |before, number| closure(before, number, &arguments);
        fold_around::<F, _, _, _, _>(self.clone(), initial, lend, arguments)
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
        G: Fn(A, usize) -> A,
    {
        const { refuse_captures::<F>() };
        fold_around::<F, _, _, _, _>(self.clone(), initial, closure, arguments)
    }

    /// Like the function [`par_map_reduce`](crate::collections::par_map_reduce), on these workers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, collections::IndexRange};
    /// let numbers = IndexRange::from(0..100).on(&[Trustee::here()]);
    /// assert_eq!(numbers.par_map_reduce(|number| number ^ 64, |one, other| one.max(other)), Some(127));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like the function.
    #[track_caller]
    pub fn par_map_reduce<U: NoRef, F, R>(&self, map: F, reduce: R) -> Option<U>
    where
        F: FnOnce(usize) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        map_reduce_around::<F, _, _, _, _, _>(self.clone(), move |()| move |number| map(number), (), reduce)
    }

    /// Like [`par_map_reduce`](Self::par_map_reduce), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::IndexRange::from(0..100);
    /// let largest = numbers.par_map_reduce_with(|number, of| number * number % of, 97, |one, other| one.max(other));
    /// assert_eq!(largest, Some(96));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like the function.
    #[track_caller]
    pub fn par_map_reduce_with<C: NoRef + Clone, U: NoRef, F, R>(
        &self,
        map: F,
        arguments: C,
        reduce: R,
    ) -> Option<U>
    where
        F: Fn(usize, &C) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |number| map(number, &arguments);
        map_reduce_around::<F, _, _, _, _, _>(self.clone(), lend, arguments, reduce)
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
        G: Fn(usize) -> U,
        R: FnOnce(U, U) -> U + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        map_reduce_around::<F, _, _, _, _, _>(self.clone(), map, arguments, reduce)
    }
}

impl From<Range<usize>> for IndexRange {
    /// For all workers of all nodes.
    fn from(numbers: Range<usize>) -> Self {
        Self { numbers, trustees: None }
    }
}
