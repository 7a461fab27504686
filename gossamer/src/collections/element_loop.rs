//! A loop over the elements of a [`DistVec`], each in place.

use crate::collections::{DistVec, Elements};
use crate::lane::catch::resume_saying;
use crate::lane::operation::refuse_captures;
use crate::trust::rethrow;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Replies};
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::time::{Duration, Instant};

/// How long a worker goes on before it serves the requests of others.
pub(super) const TURN: Duration = Duration::from_micros(100);
/// Elements between two looks at the clock.
pub(super) const BETWEEN: usize = 64;

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
    /// A request of 8 bytes, and 8 bytes back, for each 100 us of work of a worker. The captures of the closure are
    /// sent along, and cloned for each element.
    ///
    /// # Panics
    /// If the closure panics, with the index of the element: its worker stops there, the others finish what they have
    /// begun ([Panics](Self#panics)).
    #[track_caller]
    pub fn par_for_each<F>(&self, closure: F)
    where
        F: FnOnce(usize, &mut T) + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.for_each_around::<F, _, _>(move |index, element, ()| closure(index, element), ());
    }

    /// Like [`par_for_each`](Self::par_for_each), with a clone of `arguments` for each element.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let numbers = gossamer::collections::DistVec::from_fn(5, |index| index as u64);
    /// numbers.par_for_each_with(|_index, number, factor: u64| *number *= factor, 10);
    /// assert_eq!(numbers.to_vec(), [0, 10, 20, 30, 40]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_for_each`](Self::par_for_each).
    #[track_caller]
    pub fn par_for_each_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C)
    where
        F: FnOnce(usize, &mut T, C) + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.for_each_around::<F, _, _>(closure, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_for_each_with<C: Captured + Clone, F>(&self, arguments: C, closure: F)
    where
        F: FnOnce(usize, &mut T, C) + Send + Copy + 'static,
    {
        self.par_for_each_with(closure, arguments);
    }

    #[track_caller]
    fn for_each_around<N, C: NoRef + Clone, F>(&self, closure: F, arguments: C)
    where
        F: FnOnce(usize, &mut T, C) + Send + Copy + 'static,
    {
        require_fiber("par_for_each");
        let turn = move |elements: &mut Elements<T>, (first, arguments): (usize, C)| {
            take_turn(elements, first, |index, element| closure(index, element, arguments.clone()))
        };
        let (mut replies, mut failed, at) = (Replies::new(), None, Location::caller());
        let go_on = |replies: &Replies<usize, usize>, part: usize, first: usize| {
            let arguments = (first, arguments.clone());
            self.parts[part].send_into::<N, _, _, _, _>(replies, part, turn, arguments, at);
        };
        for part in 0..self.parts.len() {
            go_on(&replies, part, 0);
        }
        while let Some((part, reply)) = replies.next() {
            match reply {
                Ok(done) if done < self.spread.len_of(part) && failed.is_none() => {
                    go_on(&replies, part, done)
                }
                Ok(_) => {}
                Err(error) => {
                    failed.get_or_insert(error);
                }
            }
        }
        if let Some(error) = failed {
            rethrow(error, at);
        }
    }
}

/// Calls the closure for as many elements as fit into a turn, from `first` on, and returns where to continue.
pub(super) fn take_turn<T>(
    elements: &mut Elements<T>,
    first: usize,
    mut closure: impl FnMut(usize, &mut T),
) -> usize {
    let (begun, mut at) = (Instant::now(), first);
    let run = AssertUnwindSafe(|| {
        let mut left = elements.indexed_mut_from(first);
        loop {
            for (index, element) in left.by_ref().take(BETWEEN) {
                closure(index, element);
                at += 1;
            }
            if left.len() == 0 || begun.elapsed() > TURN {
                return;
            }
        }
    });
    if let Err(payload) = catch_unwind(run) {
        let index = elements.index_of(at);
        resume_saying(payload, |message| format!("element {index}: {message}"));
    }
    at
}
