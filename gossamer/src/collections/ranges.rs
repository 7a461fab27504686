//! Ranges of neighbours, and whole parts: one request for each worker that has any.

use crate::collections::{DistVec, Elements};
use crate::lane::operation::refuse_captures;
use crate::trust::rethrow;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Pending, Trust, WithoutCaptures};
use std::ops::{Bound, Range, RangeBounds};
use std::panic::Location;

impl<T: NoRef + Clone> DistVec<T> {
    /// Copies of the elements of a range, in order. One request for each worker that has any, all at once.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let letters: gossamer::collections::DistVec<_> = ('a'..='f').collect();
    /// assert_eq!(letters.range(2..5), ['c', 'd', 'e']);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the range is not within the vector ([Panics](Self#panics)).
    #[track_caller]
    pub fn range(&self, range: impl RangeBounds<usize>) -> Vec<T> {
        require_fiber("range");
        let range = self.checked(&range);
        let asked = self.ask_for(&range);
        self.in_order(range, asked)
    }

    /// Asks each worker that has any elements of a range for copies of them.
    #[track_caller]
    pub(super) fn ask_for(&self, range: &Range<usize>) -> Vec<Option<Pending<Vec<T>>>> {
        let copy = const {
            |elements: &mut Elements<T>, (start, end): (usize, usize)| elements[start..end].to_vec()
        };
        let mut asked = Vec::new();
        for (part, trust) in self.parts.iter().enumerate() {
            let within = self.spread.within(part, range);
            // Not a closure, which would be named as the caller.
            asked.push(match within.is_empty() {
                true => None,
                false => Some(trust.apply_with_async(copy, (within.start, within.end))),
            });
        }
        asked
    }

    /// What was asked for, when it is there.
    #[track_caller]
    pub(super) fn in_order(&self, range: Range<usize>, asked: Vec<Option<Pending<Vec<T>>>>) -> Vec<T> {
        let mut parts = Vec::new();
        for pending in asked {
            let part = match pending {
                Some(pending) => pending.wait(),
                None => Vec::new(),
            };
            parts.push(part.into_iter());
        }
        let part_of = |index| self.spread.find(index).map(|(part, _)| part);
        let mut all = Vec::with_capacity(range.len());
        all.extend(range.filter_map(|index| parts[part_of(index)?].next()));
        all
    }

    /// Copies of all elements, in order: the [`range`](Self::range) of them.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// assert_eq!(squares.to_vec(), [0, 1, 4, 9, 16]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`range`](Self::range).
    #[track_caller]
    pub fn to_vec(&self) -> Vec<T> {
        require_fiber("to_vec");
        self.range(..)
    }
}

impl<T: NoRef> DistVec<T> {
    /// Replaces elements, from `start` on; the old values are dropped where they are. One request for each worker
    /// that has any, all at once.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// squares.set_range(1, vec![7, 7]);
    /// assert_eq!(squares.to_vec(), [0, 7, 7, 9, 16]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If they do not fit the vector ([Panics](Self#panics)).
    #[track_caller]
    pub fn set_range(&self, start: usize, values: Vec<T>) {
        let range = self.checked(&(start..start.saturating_add(values.len())));
        if range.is_empty() {
            return;
        }
        require_fiber("set_range");
        let mut parts: Vec<Vec<T>> = self.parts.iter().map(|_| Vec::new()).collect();
        for (index, value) in range.clone().zip(values) {
            if let Some((part, _)) = self.spread.find(index) {
                parts[part].push(value);
            }
        }
        let set = const {
            |elements: &mut Elements<T>, (start, values): (usize, Vec<T>)| {
                elements[start..].iter_mut().zip(values).for_each(|(element, value)| *element = value);
            }
        };
        let mut pending = Vec::new();
        for (part, values) in parts.into_iter().enumerate().filter(|(_, values)| !values.is_empty()) {
            let start = self.spread.within(part, &range).start;
            pending.push(self.parts[part].apply_with_async(set, (start, values)));
        }
        for pending in pending {
            pending.wait();
        }
    }
}

impl<T: 'static> DistVec<T> {
    /// Applies a closure to the elements that this fiber's worker has, at once, and returns its result; `None` if it has none of the
    /// vector. No request, and no copy.
    ///
    /// The closure runs within this call, so it may capture and return anything, including references; like a
    /// delegated closure it cannot wait. If the layout names the worker twice, it gets the first of the two parts.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let squares = DistVec::from_fn(10, |index| index * index);
    /// let mut seen = Vec::new();
    /// squares.local(|elements| seen.extend_from_slice(elements));
    /// assert_eq!(seen, [0, 1, 4, 9, 16]); // on worker 0
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics; in a delegated closure or a callback.
    #[track_caller]
    pub fn local<R>(&self, closure: impl FnOnce(&mut Elements<T>) -> R) -> Option<R> {
        require_fiber("local");
        let here = crate::Trustee::here();
        let part = self.parts.iter().find(|part| part.trustee() == here)?;
        Some(part.apply_here(closure))
    }

    /// Applies a closure to the elements of each worker, all at once, and returns the results in the order of the layout. One request for
    /// each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let numbers = DistVec::from_fn(100, |index| index as u64);
    /// let sums = numbers.map_all(|elements| elements.iter().sum::<u64>());
    /// assert_eq!(sums.into_iter().sum::<u64>(), 4950);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics ([Panics](Self#panics)).
    #[track_caller]
    pub fn map_all<U: NoRef, F>(&self, closure: F) -> Vec<U>
    where
        F: FnOnce(&mut Elements<T>) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.map_parts::<F, _, _, _>(move |elements, ()| closure(elements), ())
    }

    /// Like [`map_all`](Self::map_all), with a clone of `arguments` passed to the closure at each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Layout};
    /// let squares = DistVec::from_fn(Layout::cyclic(5), |index| (index * index) as u64);
    /// let sums = squares.map_all_with(|own, add| own.iter().sum::<u64>() + add, 100);
    /// assert_eq!(sums, [120, 110]); // 0, 4, 16 and 1, 9
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`map_all`](Self::map_all).
    #[track_caller]
    pub fn map_all_with<C: NoRef + Clone, U: NoRef, F>(&self, closure: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&mut Elements<T>, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.map_parts::<F, _, _, _>(closure, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __map_all_with<C: Captured + Clone, U: NoRef, F>(&self, arguments: C, closure: F) -> Vec<U>
    where
        F: FnOnce(&mut Elements<T>, C) -> U + Send + Copy + 'static,
    {
        self.map_all_with(closure, arguments)
    }

    #[track_caller]
    fn map_parts<N, C: NoRef + Clone, U: NoRef, F>(&self, closure: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&mut Elements<T>, C) -> U + Send + Copy + 'static,
    {
        require_fiber("map_all");
        let caller = Location::caller();
        let send = |part: &Trust<Elements<T>>| part.send::<N, _, _, _>(closure, arguments.clone(), caller);
        let pending: Vec<_> = self.parts.iter().map(send).collect();
        let mut results = Vec::new();
        for pending in pending {
            match pending.try_wait() {
                Ok(result) => results.push(result),
                Err(error) => rethrow(error, caller),
            }
        }
        results
    }

    /// A range as numbers.
    #[track_caller]
    pub(super) fn checked(&self, range: &impl RangeBounds<usize>) -> Range<usize> {
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => self.len(),
        };
        assert!(
            start <= end && end <= self.len(),
            "range {start}..{end} is out of range of a `DistVec` with {} elements",
            self.len()
        );
        start..end
    }
}
