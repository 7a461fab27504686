//! A loop over the elements of a [`DistVec`], each in place.

use crate::collections::parts::{OwnPart, waited};
use crate::collections::{DistVec, Elements};
use crate::lane::catch::resume_saying;
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Trust, WithoutCaptures};
use std::mem::{replace, take};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::{Duration, Instant};

/// How long a worker goes on before it serves the requests of others.
pub(super) const TURN: Duration = Duration::from_micros(100);
/// Elements between two looks at the clock.
pub(super) const BETWEEN: usize = 64;
/// The same where calls are so short that twice as many take little of a turn.
const MOST_BETWEEN: usize = 512;
const SHORT: Duration = Duration::from_micros(2);

impl<T: 'static> DistVec<T> {
    /// Calls a closure with the index of each element and the element itself, on all workers that have any, at once,
    /// and waits until that is done.
    ///
    /// Each worker visits its elements in order, for some 100 us, then serves the requests of others, and goes on.
    /// The closure runs as a delegated closure, so it cannot wait; that of
    /// [`par_for_each`](crate::collections::par_for_each) can.
    ///
    /// ```
    /// use gossamer::collections::DistVec;
    ///
    /// #[gossamer::delegate]
    /// fn add(numbers: &DistVec<usize>, by: usize) {
    ///     numbers.par_for_each(|index, number| *number += index * by);
    /// }
    ///
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = DistVec::filled(4, 1);
    /// add(&numbers, 10);
    /// assert_eq!(numbers.to_vec(), [1, 11, 21, 31]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// A request to each worker, with the captures of the closure, and 8 bytes back. Where that is not over after 100 us,
    /// a fiber on each worker, which is sent the captures once more. Each call borrows them.
    ///
    /// # Panics
    /// If the closure panics, with the index of the element: its worker stops there, the others when they have finished
    /// their turn ([Panics](Self#panics)).
    #[track_caller]
    pub fn par_for_each<F>(&self, closure: F)
    where
        F: FnOnce(usize, &mut T) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.for_each_around::<F, _, _, _>(move |()| move |index, element| closure(index, element), ());
    }

    /// Like [`par_for_each`](Self::par_for_each), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::DistVec::from_fn(5, |index| index as u64);
    /// numbers.par_for_each_with(|_index, number, factor: &u64| *number *= factor, 10);
    /// assert_eq!(numbers.to_vec(), [0, 10, 20, 30, 40]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_for_each`](Self::par_for_each).
    #[track_caller]
    pub fn par_for_each_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C)
    where
        F: Fn(usize, &mut T, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |index, element: &mut T| closure(index, element, &arguments);
        self.for_each_around::<F, _, _, _>(lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_for_each_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &mut T),
    {
        const { refuse_captures::<F>() };
        self.for_each_around::<F, _, _, _>(closure, arguments);
    }

    #[track_caller]
    fn for_each_around<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(usize, &mut T),
    {
        require_fiber("par_for_each");
        let at = Location::caller();
        let turn = move |elements: &mut Elements<T>, arguments: C| take_turn(elements, 0, closure(arguments));
        let send = |part: &Trust<Elements<T>>| part.send::<N, _, _, _>(turn, arguments.clone(), at);
        let done = waited(self.parts.iter().map(send).collect());
        // A loop that is over after one turn needs no fibers.
        if done.iter().enumerate().any(|(part, done)| *done < self.spread.len_of(part)) {
            let rest = move |part: &OwnPart<T>, (done, arguments): (usize, C)| {
                part.for_each_from(done, closure(arguments));
            };
            self.on_each_part::<N, _, _, _>(rest, |part| (done[part], arguments.clone()));
        }
    }
}

/// Calls the closure for as many elements as fit into a turn, from `first` on, and returns where to continue.
pub(super) fn take_turn<T>(
    elements: &mut Elements<T>,
    first: usize,
    mut closure: impl FnMut(usize, &mut T),
) -> usize {
    fold_turn(elements, first, &mut (), |(), index, element| closure(index, element))
}

/// Like `take_turn`, with a value that goes from one call to the next.
pub(super) fn fold_turn<T, A: Default>(
    elements: &mut Elements<T>,
    first: usize,
    folded: &mut A,
    mut closure: impl FnMut(A, usize, &mut T) -> A,
) -> usize {
    let (begun, mut at) = (Instant::now(), first);
    let run = AssertUnwindSafe(|| {
        let (index_of, mut left) = (elements.indices(), &mut elements[first..]);
        let (mut elapsed, mut between) = (Duration::ZERO, BETWEEN);
        while !left.is_empty() && elapsed <= TURN {
            let (stretch, behind) = left.split_at_mut(between.min(left.len()));
            // In a variable of its own, which may be in registers.
            let mut value = take(folded);
            for element in stretch {
                value = closure(value, index_of(at), element);
                at += 1;
            }
            *folded = value;
            left = behind;
            let before = replace(&mut elapsed, begun.elapsed());
            // A look takes as long as many short calls.
            let is_short = elapsed - before < SHORT;
            between = if is_short { MOST_BETWEEN.min(2 * between) } else { BETWEEN };
        }
    });
    if let Err(payload) = catch_unwind(run) {
        let index = elements.index_of(at);
        resume_saying(payload, |message| format!("element {index}: {message}"));
    }
    at
}
