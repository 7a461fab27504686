//! A fiber on the worker of each part of a [`DistMap`]: the basis of the loops that return something.

use crate::collections::dist_map::{DistMap, Entries, take_turn};
use crate::trust::{FibersOfCall, spawn_around};
use crate::{NoRef, Trust, yield_now};
use std::panic::Location;

/// The entries of one worker, as seen by a fiber there.
pub(in crate::collections) struct OwnEntries<K: 'static, V: 'static>(Trust<Entries<K, V>>);

impl<K, V> OwnEntries<K, V> {
    /// Calls a closure with each key and its value. Between two turns the worker serves the requests of others.
    #[track_caller]
    pub(in crate::collections) fn for_each(&self, mut closure: impl FnMut(&K, &mut V)) {
        let mut position = Some(0);
        while let Some(at) = position {
            position = self.0.visit(|entries| {
                take_turn(at, |position| {
                    let (bucket, next) = entries.at_mut(position);
                    bucket.iter_mut().for_each(|(key, value)| closure(key, value));
                    next
                })
            });
            yield_now();
        }
    }
}

impl<K: 'static, V: 'static> DistMap<K, V> {
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
        let run = move |(entries, arguments): (Trust<Entries<K, V>>, C)| run(&OwnEntries(entries), arguments);
        let at = Location::caller();
        let start = |entries: &Trust<Entries<K, V>>| {
            spawn_around::<N, _, _, _>(entries.trustee(), run, (entries.clone(), arguments.clone()), at)
        };
        self.parts().iter().map(start).collect::<FibersOfCall<_>>().joined()
    }
}
