//! [`DistVec::par_reduce`] and [`DistVec::par_map_reduce`]: reducing all elements to one value.

use crate::collections::DistVec;
use crate::collections::par_fold::reduced;
use crate::collections::parts::OwnPart;
use crate::lane::operation::refuse_captures;
use crate::trust::require_constant;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, WithoutCaptures};

impl<T: NoRef + Clone> DistVec<T> {
    /// Combines two neighbouring elements into one, and so on until one is left; `None` if there are none.
    ///
    /// Each worker reduces its own elements, and the caller reduces the results, in the order of the layout. So the
    /// closure must be associative and, unless the vector is in blocks, commutative. The same elements in the same
    /// layout give the same value even if the closure is neither.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// assert_eq!(DistVec::from_fn(5, |index| index % 4).par_reduce(|one, other| one.max(other)), Some(3));
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`par_map`](Self::par_map). Each element is cloned on its worker, and one value for each worker comes
    /// back.
    ///
    /// # Panics
    /// If the closure panics, with the index of the second element if it happens on a worker ([Loops](Self#loops)).
    #[track_caller]
    pub fn par_reduce<F>(&self, closure: F) -> Option<T>
    where
        F: FnOnce(T, T) -> T + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.reduce_itself::<F, _, _, _>(move |()| move |one, other| closure(one, other), ())
    }

    /// Like [`par_reduce`](Self::par_reduce), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let steps = DistVec::from_fn(6, |index| index as u64 + 1);
    /// let product = steps.par_reduce_with(|one, other, modulus| one * other % modulus, 100);
    /// assert_eq!(product, Some(20)); // 6! is 720
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_reduce`](Self::par_reduce).
    #[track_caller]
    pub fn par_reduce_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C) -> Option<T>
    where
        F: Fn(T, T, &C) -> T + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |one, other| closure(one, other, &arguments);
        self.reduce_itself::<F, _, _, _>(lend, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_reduce_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F) -> Option<T>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, T) -> T,
    {
        const { refuse_captures::<F>() };
        self.reduce_itself::<F, _, _, _>(closure, arguments)
    }

    #[track_caller]
    fn reduce_itself<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C) -> Option<T>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, T) -> T,
    {
        require_fiber("par_reduce");
        let make = move |arguments| {
            let itself = |_: usize, element: &T| element.clone();
            (itself, closure(arguments))
        };
        self.reduce_around::<N, _, _, _, _, _>(make, arguments)
    }
}

impl<T: 'static> DistVec<T> {
    /// Maps each element and its index to a value with one closure, and reduces the values with another, like
    /// [`par_reduce`](Self::par_reduce); `None` if there are no elements.
    ///
    /// The second closure captures nothing. A marked function makes it a constant, like the first; elsewhere it can
    /// go to other nodes if it is written `const { |one, other| … }`, or is a plain `fn`.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn nearest(places: &DistVec<f64>, to: f64) -> Option<f64> {
    ///     places.par_map_reduce(|_, place| (place - to).abs(), |one, other| one.min(other))
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// assert_eq!(nearest(&DistVec::from_fn(9, |index| index as f64), 3.25), Some(0.25));
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`par_map`](Self::par_map); one value for each worker comes back.
    ///
    /// # Panics
    /// If a closure panics, with the index of the element if it happens on a worker ([Loops](Self#loops)).
    #[track_caller]
    pub fn par_map_reduce<U: NoRef, F, R>(&self, map: F, reduce: R) -> Option<U>
    where
        F: FnOnce(usize, &T) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.map_reduce_around::<F, _, _, _, _, _>(
            move |()| move |index, element| map(index, element),
            (),
            reduce,
        )
    }

    /// Like [`par_map_reduce`](Self::par_map_reduce), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let places = DistVec::from_fn(9, |index| index as f64);
    /// let distance = |_, place: &f64, to: &f64| (place - to).abs();
    /// assert_eq!(places.par_map_reduce_with(distance, 3.25, |one, other| one.min(other)), Some(0.25));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_map_reduce`](Self::par_map_reduce).
    #[track_caller]
    pub fn par_map_reduce_with<C: NoRef + Clone, U: NoRef, F, R>(
        &self,
        map: F,
        arguments: C,
        reduce: R,
    ) -> Option<U>
    where
        F: Fn(usize, &T, &C) -> U + Send + WithoutCaptures + 'static,
        R: FnOnce(U, U) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |index, element: &T| map(index, element, &arguments);
        self.map_reduce_around::<F, _, _, _, _, _>(lend, arguments, reduce)
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
        G: Fn(usize, &T) -> U,
        R: FnOnce(U, U) -> U + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.map_reduce_around::<F, _, _, _, _, _>(map, arguments, reduce)
    }

    #[track_caller]
    fn map_reduce_around<N, C: NoRef + Clone, U: NoRef, F, G, R>(
        &self,
        map: F,
        arguments: C,
        reduce: R,
    ) -> Option<U>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &T) -> U,
        R: FnOnce(U, U) -> U + Send + Copy + 'static,
    {
        require_fiber("par_map_reduce");
        const { refuse_captures::<R>() };
        require_constant::<R>(self.parts.iter().map(|part| part.trustee()), "par_map_reduce");
        let make = move |arguments| (map(arguments), move |one, other| reduce(one, other));
        self.reduce_around::<N, _, _, _, _, _>(make, arguments)
    }

    /// `make` returns the closures that map and reduce.
    #[track_caller]
    fn reduce_around<N, C: NoRef + Clone, U: NoRef, F, M, R>(&self, make: F, arguments: C) -> Option<U>
    where
        F: FnOnce(C) -> (M, R) + Send + Copy + 'static,
        M: Fn(usize, &T) -> U,
        R: Fn(U, U) -> U,
    {
        let of_part = move |part: &OwnPart<T>, arguments: C| {
            let (map, reduce) = make(arguments);
            part.fold(None::<U>, |before, index, element| Some(reduced(before, map(index, element), &reduce)))
        };
        let reduced = self.on_parts::<N, _, _, _>(of_part, arguments.clone());
        reduced.into_iter().flatten().reduce(make(arguments).1)
    }
}
