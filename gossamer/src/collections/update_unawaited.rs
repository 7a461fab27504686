//! Updates of single elements that nobody waits for.

use crate::collections::{DistVec, Elements};
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, WithoutCaptures};
use std::panic::Location;

impl<T: 'static> DistVec<T> {
    /// Changes an element, and goes on: a direct call for a fiber on the element's worker, otherwise one request. Like
    /// all requests of a fiber to one worker, it is served in the order in which they were sent
    /// ([`Trust::apply_unawaited`](crate::Trust::apply_unawaited)). Batches ([`updates`](DistVec::updates)) cost less.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let counts = DistVec::filled(10, 0_u64);
    /// for number in 0..1000 {
    ///     counts.update_unawaited(number % 10, |count| *count += 1);
    /// }
    /// assert_eq!(counts.to_vec(), [100; 10]); // behind them
    /// # });
    /// ```
    ///
    /// # Panics
    /// If there is no such element; if the backlog is far too long.
    #[inline]
    #[track_caller]
    pub fn update_unawaited<F>(&self, index: usize, closure: F)
    where
        F: FnOnce(&mut T) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_unawaited_at::<F, _, _>(index, move |element, ()| closure(element), ());
    }

    /// Like [`update_unawaited`](Self::update_unawaited), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let sums = DistVec::filled(2, 0_u64);
    /// (0..10).for_each(|number| sums.update_with_unawaited(number as usize % 2, |sum, by| *sum += by, number));
    /// assert_eq!(sums.to_vec(), [20, 25]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`update_unawaited`](Self::update_unawaited).
    #[inline]
    #[track_caller]
    pub fn update_with_unawaited<C: NoRef, F>(&self, index: usize, closure: F, arguments: C)
    where
        F: FnOnce(&mut T, C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_unawaited_at::<F, _, _>(index, closure, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __update_with_unawaited<C: Captured, F>(&self, index: usize, arguments: C, closure: F)
    where
        F: FnOnce(&mut T, C) + Send + Copy + 'static,
    {
        self.update_with_unawaited(index, closure, arguments);
    }

    #[inline]
    #[track_caller]
    fn send_unawaited_at<N, C: NoRef, F>(&self, index: usize, closure: F, arguments: C)
    where
        F: FnOnce(&mut T, C) + Send + Copy + 'static,
    {
        let (part, offset) = self.at(index);
        let closure = move |elements: &mut Elements<T>, (offset, arguments): (u32, C)| {
            closure(&mut elements[offset as usize], arguments);
        };
        part.send_unawaited::<N, _, _>(closure, (offset as u32, arguments), Location::caller());
    }
}
