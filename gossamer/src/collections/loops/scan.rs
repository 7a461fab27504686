//! [`DistVec::par_scan`]: prefix sums, with any closure that combines two elements.

use crate::collections::par_fold::reduced;
use crate::collections::parts::OwnPart;
use crate::collections::{DistVec, Elements, Layout};
use crate::lane::operation::refuse_captures;
use crate::sys::memory::large_pages;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures, entrust};

impl<T: NoRef + Clone> DistVec<T> {
    /// A vector of the same layout, in which each element is combined with all before it: for sums, 1, 2, 3 become
    /// 1, 3, 6 (an inclusive scan, as `MPI_Scan` makes one).
    ///
    /// The closure gets what comes before, and an element. It must be associative, and need not be commutative. The
    /// same elements in the same layout give the same values even if it is not associative. What others change
    /// meanwhile may count for some elements and not for others.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let lengths = DistVec::from_slice(&[3_usize, 0, 4, 1]);
    /// let ends = lengths.par_scan(|before, length| before + length);
    /// assert_eq!(ends.to_vec(), [3, 3, 7, 8]);
    ///
    /// // Without the element itself, which is where each begins: an exclusive scan.
    /// ends.par_zip(&lengths, |_, end, length| *end -= *length);
    /// assert_eq!(ends.to_vec(), [0, 3, 3, 7]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Twice that of [`par_map`](Self::par_map): each worker but the last combines its own elements, a value for each
    /// comes back, and each then scans its elements behind what comes before them. Two clones of each element. A
    /// vector in turn is copied to blocks for it and back ([`with_layout`](Self::with_layout)).
    ///
    /// # Panics
    /// If the closure panics, with the index of the second element if it happens on a worker ([Loops](Self#loops)).
    #[track_caller]
    #[must_use]
    pub fn par_scan<F>(&self, closure: F) -> DistVec<T>
    where
        F: FnOnce(T, T) -> T + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.scan_around::<F, _, _, _>(move |()| move |before, element| closure(before, element), ())
    }

    /// Like [`par_scan`](Self::par_scan), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let steps = DistVec::from_fn(5, |index| index as u64 + 1);
    /// let products = steps.par_scan_with(|before, step, modulus| before * step % modulus, 100);
    /// assert_eq!(products.to_vec(), [1, 2, 6, 24, 20]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_scan`](Self::par_scan).
    #[track_caller]
    #[must_use]
    pub fn par_scan_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C) -> DistVec<T>
    where
        F: Fn(T, T, &C) -> T + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |before, element| closure(before, element, &arguments);
        self.scan_around::<F, _, _, _>(lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    #[must_use]
    pub fn __par_scan_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F) -> DistVec<T>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, T) -> T,
    {
        const { refuse_captures::<F>() };
        self.scan_around::<F, _, _, _>(closure, arguments)
    }

    #[track_caller]
    fn scan_around<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C) -> DistVec<T>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, T) -> T,
    {
        require_fiber("par_scan");
        if !self.spread.is_cyclic() {
            return self.scan_blocks::<N, _, _, _>(closure, arguments);
        }
        let (len, trustees) = (self.len(), self.trustees());
        let blocks = self.with_layout(Layout::block(len).on(&trustees));
        let scanned = blocks.scan_blocks::<N, _, _, _>(closure, arguments);
        scanned.with_layout(Layout::cyclic(len).on(&trustees))
    }

    #[track_caller]
    fn scan_blocks<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C) -> DistVec<T>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, T) -> T,
    {
        let before = self.before_parts::<N, _, _, _>(closure, arguments.clone());
        let scan = move |part: &OwnPart<T>, (mut before, arguments): (Option<T>, C)| {
            let (combine, mut scanned) = (closure(arguments), large_pages::with_capacity(part.len()));
            part.for_each(|_, element| {
                let combined = reduced(before.take(), element.clone(), &combine);
                before = Some(combined.clone());
                scanned.push(combined);
            });
            entrust(Elements::new(part.number, part.spread, scanned))
        };
        let arguments = |part: usize| (before[part].clone(), arguments.clone());
        let parts = self.on_each_part::<N, _, _, _>(scan, arguments);
        DistVec { parts: parts.into(), spread: self.spread }
    }

    /// For each part all elements of those before it, combined; `None` if there are none.
    #[track_caller]
    fn before_parts<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C) -> Vec<Option<T>>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, T) -> T,
    {
        let combine_all = move |part: &OwnPart<T>, arguments: C| {
            let combine = closure(arguments);
            // Nothing comes after the last part.
            let is_last = part.number + 1 == part.spread.parts();
            let all = |before, _: usize, element: &mut T| Some(reduced(before, element.clone(), &combine));
            if is_last { None } else { part.fold(None, all) }
        };
        let of_parts = self.on_parts::<N, _, _, _>(combine_all, arguments.clone());
        let (combine, mut all) = (closure(arguments), None::<T>);
        let before = of_parts.into_iter().map(|of_part| {
            let before = all.clone();
            if let Some(of_part) = of_part {
                all = Some(reduced(all.take(), of_part, &combine));
            }
            before
        });
        before.collect()
    }
}
