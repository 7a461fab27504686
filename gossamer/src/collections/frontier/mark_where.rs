//! [`Frontier::mark_where`]: marking by what elements are.

use crate::collections::Frontier;
use crate::collections::parts::OwnPart;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::{NoRef, WithoutCaptures};

impl<T: 'static> Frontier<T> {
    /// Marks all elements for which a closure returns true, for the next round. It gets each index and element.
    ///
    /// ```
    /// use gossamer::collections::{DistVec, Frontier};
    ///
    /// #[gossamer::delegate]
    /// fn with_at_most(degrees: &DistVec<u32>, most: u32) -> usize {
    ///     let mut front = Frontier::of(degrees);
    ///     front.mark_where(|_, degree| *degree <= most);
    ///     front.swap()
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// assert_eq!(with_at_most(&DistVec::from_slice(&[3, 1, 0, 2, 1]), 1), 3);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`DistVec::par_map`](crate::collections::DistVec::par_map).
    ///
    /// # Panics
    /// Like [`DistVec::par_map`](crate::collections::DistVec::par_map); then any of the other elements may have been marked.
    #[track_caller]
    pub fn mark_where<F>(&mut self, closure: F)
    where
        F: FnOnce(usize, &T) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.mark_around::<F, _, _, _>(move |()| move |index, element| closure(index, element), ());
    }

    /// Like [`mark_where`](Self::mark_where), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let degrees = DistVec::from_slice(&[3, 1, 0, 2, 1]);
    /// let mut front = Frontier::of(&degrees);
    /// front.mark_where_with(|_, degree, most: &u32| degree <= most, 2);
    /// assert_eq!(front.swap(), 4);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`mark_where`](Self::mark_where).
    #[track_caller]
    pub fn mark_where_with<C: NoRef + Clone, F>(&mut self, closure: F, arguments: C)
    where
        F: Fn(usize, &T, &C) -> bool + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |index, element: &T| closure(index, element, &arguments);
        self.mark_around::<F, _, _, _>(lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __mark_where_with<C: Captured + Clone, F, G>(&mut self, arguments: C, closure: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> bool,
    {
        const { refuse_captures::<F>() };
        self.mark_around::<F, _, _, _>(closure, arguments);
    }

    #[track_caller]
    fn mark_around<N, C: NoRef + Clone, F, G>(&mut self, closure: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> bool,
    {
        let mark = move |part: &OwnPart<T>, arguments: C| {
            let (closure, mut offset, mut found) = (closure(arguments), 0, Vec::new());
            part.for_each(|index, element| {
                if closure(index, element) {
                    found.push(offset);
                }
                offset += 1;
            });
            part.elements.visit(|elements| {
                let (_, marks) = elements.with_marks();
                found.into_iter().for_each(|offset| marks.mark(offset, 0));
            });
        };
        self.vector.on_parts::<N, _, _, _>(mark, arguments);
    }
}
