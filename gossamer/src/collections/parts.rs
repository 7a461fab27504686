//! A fiber on the worker of each part of a [`DistVec`]: the basis of all loops over its elements.

use crate::collections::element_loop::{fold_turn, take_turn};
use crate::collections::layout::Spread;
use crate::collections::{DistVec, Elements};
use crate::trust::{FibersOfCall, rethrow, spawn_around};
use crate::{NoRef, Pending, Trust, Trustee, yield_now};
use std::panic::Location;

/// One part, as seen by a fiber of its worker.
pub struct OwnPart<T: 'static> {
    /// Its place in the layout.
    pub(super) number: usize,
    pub(super) spread: Spread,
    pub(super) elements: Trust<Elements<T>>,
}

impl<T> OwnPart<T> {
    /// How many elements it has.
    pub(super) fn len(&self) -> usize {
        self.spread.len_of(self.number)
    }

    /// Calls a closure with the index of each element and the element itself, in order. Between two turns the worker
    /// serves the requests of others. A panic names the element.
    #[track_caller]
    pub(super) fn for_each(&self, closure: impl FnMut(usize, &mut T)) {
        self.for_each_from(0, closure);
    }

    /// Like [`for_each`](Self::for_each), without the first elements of this part.
    #[track_caller]
    pub(super) fn for_each_from(&self, mut done: usize, mut closure: impl FnMut(usize, &mut T)) {
        while done < self.len() {
            done = self.elements.visit(|elements| take_turn(elements, done, &mut closure));
            yield_now();
        }
    }

    /// Like [`for_each`](Self::for_each), with a value that goes from one call to the next; returns the last one.
    #[track_caller]
    pub(super) fn fold<A: Default>(
        &self,
        mut folded: A,
        mut closure: impl FnMut(A, usize, &mut T) -> A,
    ) -> A {
        let mut done = 0;
        while done < self.len() {
            done = self.elements.visit(|elements| fold_turn(elements, done, &mut folded, &mut closure));
            yield_now();
        }
        folded
    }
}

impl<T: 'static> DistVec<T> {
    /// Like [`on_parts`](Self::on_parts), for a closure of this crate that wraps none of the user's.
    #[track_caller]
    pub(super) fn on_parts_as_is<C: NoRef + Clone, U: NoRef, F>(&self, run: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&OwnPart<T>, C) -> U + Send + Copy + 'static,
    {
        self.on_parts::<F, _, _, _>(run, arguments)
    }

    /// Runs a closure in a fiber on the worker of each part, and returns the results in the order of the parts. It
    /// captures the user's closure of type `N`, or one that was checked (`require_constant`), and nothing else.
    ///
    /// After a panic the fibers of the other parts are cancelled, and if the caller is cancelled, all are.
    #[track_caller]
    pub(super) fn on_parts<N, C: NoRef + Clone, U: NoRef, F>(&self, run: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&OwnPart<T>, C) -> U + Send + Copy + 'static,
    {
        self.on_each_part::<N, _, _, _>(run, |_| arguments.clone())
    }

    /// Like [`on_parts`](Self::on_parts), with what another closure returns for the number of each part.
    #[track_caller]
    pub(super) fn on_each_part<N, C: NoRef, U: NoRef, F>(
        &self,
        run: F,
        arguments: impl Fn(usize) -> C,
    ) -> Vec<U>
    where
        F: FnOnce(&OwnPart<T>, C) -> U + Send + Copy + 'static,
    {
        let run = move |(number, spread, elements, arguments): (usize, Spread, Trust<Elements<T>>, C)| {
            run(&OwnPart { number, spread, elements }, arguments)
        };
        let at = Location::caller();
        let start = |(number, elements): (usize, &Trust<Elements<T>>)| {
            let arguments = (number, self.spread, elements.clone(), arguments(number));
            spawn_around::<N, _, _, _>(elements.trustee(), run, arguments, at)
        };
        self.parts.iter().enumerate().map(start).collect::<FibersOfCall<_>>().joined()
    }
}

/// Runs a closure in a fiber on each of these workers, with what another closure returns for the number of the fiber, and
/// returns the results in their order. The first one captures the user's closure of type `N`, or others that were checked
/// (`require_constant`), and nothing else. After a panic the other fibers end by themselves.
#[track_caller]
pub(super) fn in_fibers_on<N, C: NoRef, U: NoRef, F>(
    trustees: impl IntoIterator<Item = Trustee>,
    run: F,
    arguments: impl Fn(usize) -> C,
) -> Vec<U>
where
    F: FnOnce(C) -> U + Send + Copy + 'static,
{
    let mut fibers = FibersOfCall::new();
    // Not `map`, whose closure would be named as the caller when a panic is reported.
    for (number, trustee) in trustees.into_iter().enumerate() {
        fibers.push(spawn_around::<N, _, _, _>(trustee, run, arguments(number), Location::caller()));
    }
    fibers.all_joined()
}

/// Waits for requests that are all under way, and returns their results. The first error is passed on after the others are done.
#[track_caller]
pub(super) fn waited<U>(pending: Vec<Pending<U>>) -> Vec<U> {
    let (mut results, mut failed, at) = (Vec::new(), None, Location::caller());
    for pending in pending {
        match pending.try_wait() {
            Ok(result) => results.push(result),
            Err(error) => _ = failed.get_or_insert(error),
        }
    }
    match failed {
        Some(error) => rethrow(error, at),
        None => results,
    }
}
