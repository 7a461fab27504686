//! A fiber on the worker of each part of a [`DistMap`]: the basis of all loops over its entries.

use crate::collections::dist_map::{DistMap, Entries};
use crate::collections::parts::waited;
use crate::trust::{FibersOfCall, spawn_around};
use crate::{NoRef, Trust, yield_now};
use std::panic::Location;
use std::time::{Duration, Instant};

/// How long a worker goes on before it serves the requests of others.
const TURN: Duration = Duration::from_micros(100);

/// The entries of one worker, as seen by a fiber there.
pub struct OwnEntries<K: 'static, V: 'static>(Trust<Entries<K, V>>);

impl<K, V> OwnEntries<K, V> {
    /// Calls a closure with each key and its value. Between two turns the worker serves the requests of others.
    #[track_caller]
    pub(in crate::collections) fn for_each(&self, mut closure: impl FnMut(&K, &mut V)) {
        self.in_turns(0, |entries, position| {
            let (bucket, next) = entries.at_mut(position);
            bucket.iter_mut().for_each(|(key, value)| closure(key, value));
            next
        });
    }

    /// Calls a closure with each key and value of some thousands, from a position on; returns where to continue.
    #[track_caller]
    pub(in crate::collections) fn some_from(
        &self,
        position: u64,
        mut closure: impl FnMut(&K, &mut V),
    ) -> Option<u64> {
        self.0.visit(|entries| {
            let (bucket, next) = entries.at_mut(position);
            bucket.iter_mut().for_each(|(key, value)| closure(key, value));
            next
        })
    }

    /// Goes from position to position until there is none.
    #[track_caller]
    fn in_turns(&self, first: u64, mut visit: impl FnMut(&mut Entries<K, V>, u64) -> Option<u64>) {
        let mut position = Some(first);
        while let Some(at) = position {
            position = self.0.visit(|entries| take_turn(at, |position| visit(entries, position)));
            yield_now();
        }
    }
}

impl<K: 'static, V: 'static> DistMap<K, V> {
    /// A part, for a fiber of its worker.
    pub(in crate::collections) fn own(&self, part: usize) -> OwnEntries<K, V> {
        OwnEntries(self.parts()[part].clone())
    }

    /// Like [`on_parts`](Self::on_parts), for a closure of this crate that wraps none of the user's.
    #[track_caller]
    pub(in crate::collections) fn on_parts_as_is<C: NoRef + Clone, U: NoRef, F>(
        &self,
        run: F,
        arguments: C,
    ) -> Vec<U>
    where
        F: FnOnce(&OwnEntries<K, V>, C) -> U + Send + Copy + 'static,
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
        F: FnOnce(&OwnEntries<K, V>, C) -> U + Send + Copy + 'static,
    {
        self.on_each_part::<N, _, _, _>(run, |_| arguments.clone())
    }

    /// Has each worker go from position to position: a closure is made of the arguments there, and called with each
    /// position, for which it returns the next.
    #[track_caller]
    pub(super) fn in_turns<N, C: NoRef + Clone, F, G>(&self, visit: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&mut Entries<K, V>, u64) -> Option<u64>,
    {
        let at = Location::caller();
        let turn = move |entries: &mut Entries<K, V>, arguments: C| {
            let visit = visit(arguments);
            take_turn(0, |position| visit(entries, position))
        };
        let send = |part: &Trust<Entries<K, V>>| part.send::<N, _, _, _>(turn, arguments.clone(), at);
        let next = waited(self.parts().iter().map(send).collect());
        // A loop that is over after one turn needs no fibers.
        if next.iter().any(Option::is_some) {
            let rest = move |part: &OwnEntries<K, V>, (next, arguments): (Option<u64>, C)| {
                if let Some(next) = next {
                    part.in_turns(next, visit(arguments));
                }
            };
            self.on_each_part::<N, _, _, _>(rest, |part| (next[part], arguments.clone()));
        }
    }

    /// Like [`on_parts`](Self::on_parts), with what another closure returns for the number of each part.
    #[track_caller]
    fn on_each_part<N, C: NoRef, U: NoRef, F>(&self, run: F, arguments: impl Fn(usize) -> C) -> Vec<U>
    where
        F: FnOnce(&OwnEntries<K, V>, C) -> U + Send + Copy + 'static,
    {
        let run = move |(entries, arguments): (Trust<Entries<K, V>>, C)| run(&OwnEntries(entries), arguments);
        let at = Location::caller();
        let start = |(part, entries): (usize, &Trust<Entries<K, V>>)| {
            spawn_around::<N, _, _, _>(entries.trustee(), run, (entries.clone(), arguments(part)), at)
        };
        self.parts().iter().enumerate().map(start).collect::<FibersOfCall<_>>().joined()
    }
}

/// Goes from position to position until the turn is over, or to the end.
fn take_turn(mut position: u64, mut visit: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
    let begun = Instant::now();
    loop {
        position = visit(position)?;
        if begun.elapsed() > TURN {
            return Some(position);
        }
    }
}
