//! How a [`DistVec`] is sorted: each part is sorted by itself; elements that belong to another worker go there; each
//! part merges what it received.
//!
//! The sorts are those of the standard library. The stable one finds runs that are already sorted and merges them, so
//! it is also used for the merge. Each part takes what it received before anything is compared again: whenever the
//! closure panics, each element is in one part.

use crate::collections::exchange::{in_order, runs_for};
use crate::collections::layout::Spread;
use crate::collections::parts::{OwnPart, waited};
use crate::collections::rearrangement::{Rearrangement, send_in};
use crate::collections::{DistVec, Elements, Layout};
use crate::sys::memory::large_pages;
use crate::worker::require_fiber;
use crate::{NoRef, Trust};
use std::cmp::Ordering;
use std::panic::Location;

/// Where all parts are cut: for each part, and for the end.
type Splits = Vec<Vec<usize>>;

impl<T: NoRef + Clone> DistVec<T> {
    #[track_caller]
    pub(super) fn sort_around<N, C: NoRef + Clone, F, G>(&self, is_stable: bool, compare: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T, &T) -> Ordering,
    {
        require_fiber(if is_stable { "par_sort" } else { "par_sort_unstable" });
        let rearrangement = Rearrangement::begin(self);
        if self.spread.is_cyclic() {
            let blocks = self.with_layout(Layout::block(self.len()).on(&self.trustees()));
            blocks.sort_around::<N, _, _, _>(is_stable, compare, arguments);
            self.replace_all(&blocks, rearrangement.number);
        } else {
            self.sort_parts::<N, _, _, _>(is_stable, compare, arguments.clone());
            if self.parts.len() > 1 {
                let splits = self.cuts::<N, _, _, _>(compare, arguments.clone());
                self.exchange(splits, rearrangement.number);
                // The stable sort merges the runs, in the order of the parts, which is the order of equal elements.
                self.sort_parts::<N, _, _, _>(true, compare, arguments);
            }
        }
        rearrangement.end();
    }

    /// Sorts each part by itself.
    #[track_caller]
    fn sort_parts<N, C: NoRef + Clone, F, G>(&self, is_stable: bool, compare: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T, &T) -> Ordering,
    {
        let sort = move |elements: &mut Elements<T>, (is_stable, arguments): (bool, C)| {
            let compare = compare(arguments);
            if is_stable { elements.sort_by(compare) } else { elements.sort_unstable_by(compare) }
        };
        let at = Location::caller();
        let send = |elements: &Trust<Elements<T>>| {
            elements.send::<N, _, _, _>(sort, (is_stable, arguments.clone()), at)
        };
        waited(self.parts.iter().map(send).collect());
    }

    /// Gives each part the elements that belong there: its own, and the runs of other parts before and behind them.
    #[track_caller]
    fn exchange(&self, splits: Splits, number: u64) {
        let send = const {
            |part: &OwnPart<T>, (to, splits, number): (DistVec<T>, Splits, u64)| {
                let others = (0..to.parts.len()).filter(|other| *other != part.number);
                let run = |to: usize| {
                    let own = splits[to][part.number]..splits[to + 1][part.number];
                    let mut run = large_pages::with_capacity(own.len());
                    part.elements.visit(|elements| run.extend_from_slice(&elements[own]));
                    (to, run)
                };
                send_in(&to, number, part.number, others.map(run));
            }
        };
        self.on_parts_as_is(send, (self.clone(), splits.clone(), number));
        let take = const {
            |elements: &mut Elements<T>, (number, part, parts, own): (u64, usize, usize, (usize, usize))| {
                let mut lower = elements.incoming().take(number, parts);
                let upper = lower.split_off(part);
                elements.keep_between(own.0..own.1, lower, upper);
            }
        };
        let parts = self.parts.len();
        let send = |(part, elements): (usize, &Trust<Elements<T>>)| {
            elements
                .apply_with_async(take, (number, part, parts, (splits[part][part], splits[part + 1][part])))
        };
        waited(self.parts.iter().enumerate().map(send).collect());
    }

    /// Replaces the elements by clones of those of another vector of the same length.
    #[track_caller]
    fn replace_all(&self, others: &DistVec<T>, number: u64) {
        let send = const {
            |part: &OwnPart<T>, (to, number): (DistVec<T>, u64)| {
                send_in(&to, number, part.number, runs_for(part, to.spread).into_iter().enumerate());
            }
        };
        others.on_parts_as_is(send, (self.clone(), number));
        let take = const {
            |elements: &mut Elements<T>, (number, part, from, to): (u64, usize, Spread, Spread)| {
                let runs = elements.incoming().take(number, from.parts());
                elements.replace(in_order(runs, from, part, to));
            }
        };
        let send = |(part, elements): (usize, &Trust<Elements<T>>)| {
            elements.apply_with_async(take, (number, part, others.spread, self.spread))
        };
        waited(self.parts.iter().enumerate().map(send).collect());
    }
}
