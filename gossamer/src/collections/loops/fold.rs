//! [`DistVec::par_fold`]: folding all elements of a worker into one value.

use crate::collections::DistVec;
use crate::collections::parts::OwnPart;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures};

impl<T: 'static> DistVec<T> {
    /// Folds the elements of each worker: the closure turns `initial` and the first element into a value, that and
    /// the next element into the next value, and so on. Returns the last value of each worker, in the order of the
    /// layout; the caller combines them.
    ///
    /// The same elements in the same layout give the same values, even where the grouping matters, as with
    /// floating-point numbers.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn moment(masses: &DistVec<f64>, centre: f64) -> f64 {
    ///     let moments = masses.par_fold(0.0, |moment, index, mass| moment + mass * (index as f64 - centre));
    ///     moments.into_iter().sum()
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// assert_eq!(moment(&DistVec::filled(5, 3.0), 2.0), 0.0);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`par_map`](Self::par_map); the value of each worker comes back.
    ///
    /// # Panics
    /// If the closure panics, with the index of the element ([Loops](Self#loops)).
    #[track_caller]
    pub fn par_fold<A: NoRef + Clone, F>(&self, initial: A, closure: F) -> Vec<A>
    where
        F: FnOnce(A, usize, &T) -> A + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let fold = move |()| move |before, index, element: &T| closure(before, index, element);
        self.fold_around::<F, _, _, _, _>(initial, fold, ())
    }

    /// Like [`par_fold`](Self::par_fold), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let masses = DistVec::filled(5, 3.0);
    /// let moment = |moment: f64, index: usize, mass: &f64, centre: &f64| moment + mass * (index as f64 - centre);
    /// let moments = masses.par_fold_with(0.0, moment, 2.0); // one of each worker
    /// assert_eq!(moments.into_iter().sum::<f64>(), 0.0);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_fold`](Self::par_fold).
    #[track_caller]
    pub fn par_fold_with<C: NoRef + Clone, A: NoRef + Clone, F>(
        &self,
        initial: A,
        closure: F,
        arguments: C,
    ) -> Vec<A>
    where
        F: Fn(A, usize, &T, &C) -> A + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend =
            move |arguments: C| move |before, index, element: &T| closure(before, index, element, &arguments);
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
        G: Fn(A, usize, &T) -> A,
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
        G: Fn(A, usize, &T) -> A,
    {
        require_fiber("par_fold");
        let fold = move |part: &OwnPart<T>, (initial, arguments): (A, C)| {
            let closure = closure(arguments);
            // The value is only absent while the closure has it.
            part.fold(Some(initial), |before, index, element| {
                before.map(|before| closure(before, index, element))
            })
        };
        self.on_parts::<N, _, _, _>(fold, (initial, arguments)).into_iter().flatten().collect()
    }
}
