//! [`DistVec::par_filter`]: a vector of some elements of another.

use crate::collections::DistVec;
use crate::collections::Layout;
use crate::collections::exchange::balanced;
use crate::collections::parts::OwnPart;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures, entrust};

impl<T: NoRef + Clone> DistVec<T> {
    /// A vector of clones of those elements for which a closure returns true, in order: in blocks over the same
    /// workers, with the same number on each.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn multiples(numbers: &DistVec<u64>, of: u64) -> Vec<u64> {
    ///     numbers.par_filter(|_, number| number % of == 0).to_vec()
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// assert_eq!(multiples(&(0..20).collect(), 7), [0, 7, 14]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Three fibers on each worker. The kept elements move to neighbours so that all workers have the same number: a
    /// request for each pair of workers of which one sends to the other. A vector that is not in blocks is [put into
    /// blocks](Self::with_layout) first.
    ///
    /// # Panics
    /// If the closure panics, with the index of the element ([Loops](Self#loops)).
    #[track_caller]
    #[must_use]
    pub fn par_filter<F>(&self, closure: F) -> Self
    where
        F: FnOnce(usize, &T) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.filter_around::<F, _, _, _>(move |()| move |index, element| closure(index, element), ())
    }

    /// Like [`par_filter`](Self::par_filter), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::DistVec::from_fn(10, |index| index as u64);
    /// let multiples = numbers.par_filter_with(|_index, number, of: &u64| *number % of == 0, 3_u64);
    /// assert_eq!(multiples.to_vec(), [0, 3, 6, 9]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_filter`](Self::par_filter).
    #[track_caller]
    #[must_use]
    pub fn par_filter_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C) -> Self
    where
        F: Fn(usize, &T, &C) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |index, element: &T| closure(index, element, &arguments);
        self.filter_around::<F, _, _, _>(lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    #[must_use]
    pub fn __par_filter_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F) -> Self
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> bool,
    {
        const { refuse_captures::<F>() };
        self.filter_around::<F, _, _, _>(closure, arguments)
    }

    #[track_caller]
    fn filter_around<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C) -> Self
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> bool,
    {
        require_fiber("par_filter");
        if self.spread.is_cyclic() {
            let blocks = self.with_layout(Layout::block(self.len()).on(&self.trustees()));
            return blocks.filter_around::<N, _, _, _>(closure, arguments);
        }
        let keep = move |part: &OwnPart<T>, arguments: C| {
            let (closure, mut kept) = (closure(arguments), Vec::new());
            part.for_each(|index, element| {
                if closure(index, element) {
                    kept.push(element.clone());
                }
            });
            let count = kept.len();
            (entrust(kept), count)
        };
        balanced(self.on_parts::<N, _, _, _>(keep, arguments))
    }
}
