//! [`DistVec::par_zip`]: visiting two vectors side by side.

use crate::collections::alignment::{are_aligned, difference};
use crate::collections::element_loop::fold_turn;
use crate::collections::near::are_same;
use crate::collections::parts::OwnPart;
use crate::collections::{DistVec, Elements};
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Trust, WithoutCaptures, yield_now};

impl<T: 'static> DistVec<T> {
    /// Calls a closure with each index and the elements of both vectors there, which it may change.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn step(places: &DistVec<f64>, speeds: &DistVec<f64>, seconds: f64) {
    ///     places.par_zip(speeds, |_, place, speed| *place += *speed * seconds);
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let places = DistVec::filled(3, 1.0);
    /// step(&places, &DistVec::filled(3, 2.0), 0.5);
    /// assert_eq!(places.to_vec(), [2.0; 3]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`par_map`](Self::par_map). No element travels.
    ///
    /// # Panics
    /// If the vectors do not have the same layout on the same workers, or are the same vector; if the closure panics,
    /// with the index of the element ([Loops](Self#loops)).
    #[track_caller]
    pub fn par_zip<U: 'static, F>(&self, other: &DistVec<U>, closure: F)
    where
        F: FnOnce(usize, &mut T, &mut U) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.zip_around::<F, _, _, _, _>(
            other,
            move |()| move |index, one, other| closure(index, one, other),
            (),
        );
    }

    /// Like [`par_zip`](Self::par_zip), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let (places, speeds) = (DistVec::filled(3, 1.0), DistVec::filled(3, 2.0));
    /// let step = |_, place: &mut f64, speed: &mut f64, seconds: &f64| *place += *speed * seconds;
    /// places.par_zip_with(&speeds, step, 0.5);
    /// assert_eq!(places.to_vec(), [2.0; 3]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_zip`](Self::par_zip).
    #[track_caller]
    pub fn par_zip_with<C: NoRef + Clone, U: 'static, F>(&self, other: &DistVec<U>, closure: F, arguments: C)
    where
        F: Fn(usize, &mut T, &mut U, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| {
            move |index, one: &mut T, other: &mut U| closure(index, one, other, &arguments)
        };
        self.zip_around::<F, _, _, _, _>(other, lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_zip_with<C: Captured + Clone, U: 'static, F, G>(
        &self,
        other: &DistVec<U>,
        arguments: C,
        closure: F,
    ) where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &mut T, &mut U),
    {
        const { refuse_captures::<F>() };
        self.zip_around::<F, _, _, _, _>(other, closure, arguments);
    }

    #[track_caller]
    fn zip_around<N, U: 'static, C: NoRef + Clone, F, G>(&self, other: &DistVec<U>, closure: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &mut T, &mut U),
    {
        require_fiber("par_zip");
        assert!(
            are_aligned(self, other),
            "a `DistVec` with {} elements {} is zipped with one {}: both are to have the same layout on the same workers",
            self.len(),
            self.spread.words(),
            difference(self, other),
        );
        assert!(
            !are_same(self, other),
            "a `DistVec` is zipped with itself: an element cannot be borrowed twice"
        );
        let zip = move |part: &OwnPart<T>, (other, arguments): (DistVec<U>, C)| {
            let theirs: &Trust<Elements<U>> = &other.parts[part.number];
            let (closure, mut done) = (closure(arguments), 0);
            while done < part.len() {
                done = part.elements.visit_both(theirs, |elements, theirs| {
                    fold_turn(elements, done, &mut theirs[done..].iter_mut(), |mut theirs, index, element| {
                        if let Some(other) = theirs.next() {
                            closure(index, element, other);
                        }
                        theirs
                    })
                });
                yield_now();
            }
        };
        self.on_parts::<N, _, _, _>(zip, (other.clone(), arguments));
    }
}
