//! How a [`DistVec`] is sorted: each part is sorted by itself; elements that belong to another worker go there; each
//! part merges what it received.
//!
//! The sorts are those of the standard library. The stable one finds runs that are already sorted and merges them, so
//! it is also used for the merge.

use crate::collections::exchange::{RunArrivals, arrivals, send_runs, take_runs};
use crate::collections::loops::select::waited;
use crate::collections::parts::OwnPart;
use crate::collections::{DistVec, Elements, Layout};
use crate::sys::memory::large_pages;
use crate::{NoRef, Trust};
use std::cmp::Ordering;
use std::panic::Location;

/// Where all parts are cut: for each part, and for the end.
type Splits = Vec<Vec<usize>>;

impl<T: NoRef + Clone> DistVec<T> {
    #[track_caller]
    pub(super) fn sort_around<N, C: NoRef + Clone, F>(&self, is_stable: bool, compare: F, arguments: C)
    where
        F: FnOnce(&T, &T, C) -> Ordering + Send + Copy + 'static,
    {
        if self.spread.is_cyclic() {
            let blocks = self.with_layout(Layout::block(self.len()).on(&self.trustees()));
            blocks.sort_around::<N, _, _>(is_stable, compare, arguments);
            return self.replace_all(&blocks);
        }
        self.sort_parts::<N, _, _>(is_stable, compare, arguments.clone());
        if self.parts.len() == 1 {
            return;
        }
        let splits = self.cuts::<N, _, _>(compare, arguments.clone());
        let arrivals = arrivals::<T>(&self.trustees(), self.parts.len());
        let send = const {
            |part: &OwnPart<T>, (splits, arrivals): (Splits, RunArrivals<T>)| {
                let others = (0..arrivals.len()).filter(|to| *to != part.number);
                let run = |to: usize| {
                    let own = splits[to][part.number]..splits[to + 1][part.number];
                    let mut run = large_pages::with_capacity(own.len());
                    part.elements.apply_here(|elements| run.extend_from_slice(&elements[own]));
                    (to, run)
                };
                send_runs(&arrivals, part.number, others.map(run));
            }
        };
        self.on_parts_as_is(send, (splits.clone(), arrivals.clone()));
        let merge = move |part: &OwnPart<T>, (splits, arrivals, arguments): (Splits, RunArrivals<T>, C)| {
            let own = splits[part.number][part.number]..splits[part.number + 1][part.number];
            let mut lower = take_runs(&arrivals[part.number]);
            let upper = lower.split_off(part.number);
            part.elements.apply_here(|elements| {
                // In the order of the parts, which is the order of equal elements.
                elements.keep_between(own, lower, upper);
                elements.sort_by(|one, other| compare(one, other, arguments.clone()));
            });
        };
        self.on_parts::<N, _, _, _>(merge, (splits, arrivals, arguments));
    }

    /// Sorts each part by itself.
    #[track_caller]
    fn sort_parts<N, C: NoRef + Clone, F>(&self, is_stable: bool, compare: F, arguments: C)
    where
        F: FnOnce(&T, &T, C) -> Ordering + Send + Copy + 'static,
    {
        let sort = move |elements: &mut Elements<T>, (is_stable, arguments): (bool, C)| {
            let compare = |one: &T, other: &T| compare(one, other, arguments.clone());
            if is_stable { elements.sort_by(compare) } else { elements.sort_unstable_by(compare) }
        };
        let at = Location::caller();
        let send = |elements: &Trust<Elements<T>>| {
            elements.send::<N, _, _, _>(sort, (is_stable, arguments.clone()), at)
        };
        waited(self.parts.iter().map(send).collect());
    }
}
