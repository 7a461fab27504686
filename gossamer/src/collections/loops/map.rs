//! [`DistVec::par_map`]: making a vector from another one, in place.

use crate::collections::parts::OwnPart;
use crate::collections::{DistVec, Elements};
use crate::lane::operation::refuse_captures;
use crate::sys::memory::large_pages;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures, entrust};

impl<T: 'static> DistVec<T> {
    /// A vector of the same layout, with the results of a closure that gets each index and element.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn scaled(numbers: &DistVec<u64>, by: u64) -> DistVec<u64> {
    ///     numbers.par_map(|index, number| index as u64 + number * by)
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// assert_eq!(scaled(&DistVec::filled(4, 10), 2).to_vec(), [20, 21, 22, 23]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// A fiber on each worker of the layout: two requests each, of some tens of bytes and the captures of the
    /// closure. No element travels, so the results need not be [`NoRef`].
    ///
    /// # Panics
    /// If the closure panics, with the index of the element ([Loops](Self#loops)).
    #[track_caller]
    pub fn par_map<U: 'static, F>(&self, closure: F) -> DistVec<U>
    where
        F: FnOnce(usize, &T) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.map_around::<F, _, _, _, _>(move |()| move |index, element| closure(index, element), ())
    }

    /// Like [`par_map`](Self::par_map), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::DistVec::from_slice(&[1, 2, 3]);
    /// let scaled = numbers.par_map_with(|_index, number, factor: &u64| *number * factor, 10_u64);
    /// assert_eq!(scaled.to_vec(), [10, 20, 30]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_map`](Self::par_map).
    #[track_caller]
    pub fn par_map_with<C: NoRef + Clone, U: 'static, F>(&self, closure: F, arguments: C) -> DistVec<U>
    where
        F: Fn(usize, &T, &C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |index, element: &T| closure(index, element, &arguments);
        self.map_around::<F, _, _, _, _>(lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_map_with<C: Captured + Clone, U: 'static, F, G>(
        &self,
        arguments: C,
        closure: F,
    ) -> DistVec<U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> U,
    {
        const { refuse_captures::<F>() };
        self.map_around::<F, _, _, _, _>(closure, arguments)
    }

    #[track_caller]
    fn map_around<N, C: NoRef + Clone, U: 'static, F, G>(&self, closure: F, arguments: C) -> DistVec<U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> U,
    {
        require_fiber("par_map");
        let map = move |part: &OwnPart<T>, arguments: C| {
            let (closure, mut mapped) = (closure(arguments), large_pages::with_capacity(part.len()));
            part.for_each(|index, element| mapped.push(closure(index, element)));
            entrust(Elements::new(part.number, part.spread, mapped))
        };
        let parts = self.on_parts::<N, _, _, _>(map, arguments);
        DistVec { parts: parts.into(), spread: self.spread }
    }
}
