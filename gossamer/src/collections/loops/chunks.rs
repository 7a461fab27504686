//! [`DistVec::par_chunks`]: some neighbours at a time.

use crate::collections::element_loop::{BETWEEN, TURN};
use crate::collections::parts::OwnPart;
use crate::collections::{DistVec, Elements};
use crate::lane::catch::resume_saying;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::yield_now;
use crate::{NoRef, WithoutCaptures};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

impl<T: 'static> DistVec<T> {
    /// Calls a closure with `size` elements of a worker at a time, as a slice, and the index of the first; the last
    /// chunk of each worker may be shorter. In a block layout the elements are neighbours; in a cyclic layout with
    /// `w` workers, every `w`th.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn smooth(samples: &DistVec<f64>, size: usize) {
    ///     samples.par_chunks(size, |_, chunk| {
    ///         let mean = chunk.iter().sum::<f64>() / chunk.len() as f64;
    ///         chunk.fill(mean);
    ///     });
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let samples = DistVec::from_vec(6, vec![1.0, 3.0, 7.0, 2.0, 4.0, 8.0]);
    /// smooth(&samples, 2);
    /// assert_eq!(samples.to_vec(), [2.0, 2.0, 7.0, 3.0, 3.0, 8.0]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// Like [`par_map`](Self::par_map). A worker serves the requests of others after each chunk, but not
    /// before 100 us have passed.
    ///
    /// # Panics
    /// If the size is 0; if the closure panics, with the index of the first element ([Loops](Self#loops)).
    #[track_caller]
    pub fn par_chunks<F>(&self, size: usize, closure: F)
    where
        F: FnOnce(usize, &mut [T]) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.chunks_around::<F, _, _, _>(size, move |()| move |first, chunk| closure(first, chunk), ());
    }

    /// Like [`par_chunks`](Self::par_chunks), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistVec;
    /// let samples = DistVec::from_fn(6, |index| index as f64);
    /// let cut = |_, chunk: &mut [f64], most: &f64| chunk.iter_mut().for_each(|sample| *sample = sample.min(*most));
    /// samples.par_chunks_with(3, cut, 3.5);
    /// assert_eq!(samples.to_vec(), [0.0, 1.0, 2.0, 3.0, 3.5, 3.5]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_chunks`](Self::par_chunks).
    #[track_caller]
    pub fn par_chunks_with<C: NoRef + Clone, F>(&self, size: usize, closure: F, arguments: C)
    where
        F: Fn(usize, &mut [T], &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |first, chunk: &mut [T]| closure(first, chunk, &arguments);
        self.chunks_around::<F, _, _, _>(size, lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_chunks_with<C: Captured + Clone, F, G>(&self, size: usize, arguments: C, closure: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &mut [T]),
    {
        const { refuse_captures::<F>() };
        self.chunks_around::<F, _, _, _>(size, closure, arguments);
    }

    #[track_caller]
    fn chunks_around<N, C: NoRef + Clone, F, G>(&self, size: usize, closure: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &mut [T]),
    {
        require_fiber("par_chunks");
        assert!(size > 0, "chunks of no elements would never end");
        let chunks = move |part: &OwnPart<T>, (size, arguments): (usize, C)| {
            let (closure, mut done) = (closure(arguments), 0);
            while done < part.len() {
                done = part.elements.visit(|elements| take_turn(elements, done, size, &closure));
                yield_now();
            }
        };
        self.on_parts::<N, _, _, _>(chunks, (size, arguments));
    }
}

/// Calls the closure for as many chunks as fit into a turn, at least for one, from the element at `first` on; returns where
/// to continue.
fn take_turn<T>(
    elements: &mut Elements<T>,
    first: usize,
    size: usize,
    closure: impl Fn(usize, &mut [T]),
) -> usize {
    let (begun, index_of, mut at) = (Instant::now(), elements.indices(), first);
    let run = AssertUnwindSafe(|| {
        let mut unseen = 0;
        for chunk in elements[first..].chunks_mut(size) {
            let len = chunk.len();
            closure(index_of(at), chunk);
            at += len;
            unseen += len;
            // A look takes as long as some elements.
            if unseen >= BETWEEN && begun.elapsed() > TURN {
                return;
            }
            unseen %= BETWEEN;
        }
    });
    if let Err(payload) = catch_unwind(run) {
        let index = index_of(at);
        resume_saying(payload, |message| format!("chunk from element {index}: {message}"));
    }
    at
}
