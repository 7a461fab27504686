//! Where to cut sorted parts, so that a given number of the smallest elements of all is before the cuts.
//!
//! All elements have a total order: by value, equal ones by their part and place. A round takes the middle of the
//! remaining range of each part, and the weighted median of these middles as the pivot. Each part tells how many of
//! its elements come before the pivot; so at least a quarter of what remains is discarded (P. Varman, S. Scheufler,
//! B. Iyer and G. Ricard, Merging multiple lists on hierarchical-memory multiprocessors, 1991).

use crate::collections::parts::waited;
use crate::collections::{DistVec, Elements};
use crate::{NoRef, Trust};
use std::cmp::Ordering;
use std::panic::Location;

/// One set of cuts, as far as they are known.
struct Cuts {
    /// How many elements are before the cuts.
    rank: usize,
    /// For each part, the lower and the upper bound of the cut.
    low: Vec<usize>,
    high: Vec<usize>,
}

/// An element and its place.
#[derive(Clone, NoRef)]
struct Pivot<T> {
    element: T,
    part: usize,
    offset: usize,
}

impl Cuts {
    fn is_open(&self) -> bool {
        self.low != self.high
    }

    /// How much is left of a part.
    fn left(&self, part: usize) -> usize {
        self.high[part] - self.low[part]
    }

    fn middle(&self, part: usize) -> usize {
        self.low[part] + self.left(part) / 2
    }

    /// Narrows the bounds: `before` elements of each part are before the pivot.
    fn narrow<T>(&mut self, pivot: &Pivot<T>, before: &[usize]) {
        let is_before = before.iter().sum::<usize>() < self.rank;
        for (part, before) in before.iter().enumerate() {
            let (low, high) = (&mut self.low[part], &mut self.high[part]);
            // Kept within the known bounds, so that this ends even for an order that is not total.
            if is_before {
                *low = (before + usize::from(part == pivot.part)).clamp(*low, *high);
            } else {
                *high = (*before).clamp(*low, *high);
            }
        }
    }
}

impl<T: NoRef + Clone> DistVec<T> {
    /// For each part of a block layout, and for the end: where to cut each of the sorted parts, so that what is
    /// before the cuts is what belongs before that part.
    #[track_caller]
    pub(super) fn cuts<N, C: NoRef + Clone, F, G>(&self, compare: F, arguments: C) -> Vec<Vec<usize>>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T, &T) -> Ordering,
    {
        let parts = self.parts.len();
        let lens: Vec<_> = (0..parts).map(|part| self.spread.len_of(part)).collect();
        let ranks = (0..=parts).scan(0, |rank, part| {
            let before = *rank;
            *rank += lens.get(part).unwrap_or(&0);
            Some(before)
        });
        let all = ranks.map(|rank| Cuts { rank, low: vec![0; parts], high: lens.clone() });
        let mut cuts: Vec<_> = all.collect();
        let compare_here = compare(arguments.clone());
        loop {
            let open: Vec<_> = cuts.iter_mut().filter(|cuts| cuts.is_open()).collect();
            if open.is_empty() {
                break;
            }
            let pivots = self.pivots(&open, &compare_here);
            let before = self.before::<N, _, _, _>(&pivots, compare, arguments.clone());
            for (number, (cuts, pivot)) in open.into_iter().zip(&pivots).enumerate() {
                let before: Vec<_> = before.iter().map(|of_part| of_part[number]).collect();
                cuts.narrow(pivot, &before);
            }
        }
        let are_right = cuts.iter().all(|cuts| cuts.low.iter().sum::<usize>() == cuts.rank);
        let ascend =
            cuts.is_sorted_by(|one, next| one.low.iter().zip(&next.low).all(|(one, next)| one <= next));
        assert!(
            are_right && ascend,
            "a sort of elements that changed meanwhile, or whose order is not total"
        );
        cuts.into_iter().map(|cuts| cuts.low).collect()
    }

    /// For each set of cuts, the weighted median of the middles of the remaining ranges.
    #[track_caller]
    fn pivots(&self, open: &[&mut Cuts], compare: impl Fn(&T, &T) -> Ordering) -> Vec<Pivot<T>> {
        let copy = const {
            |elements: &mut Elements<T>, offsets: Vec<usize>| -> Vec<T> {
                offsets.into_iter().map(|offset| elements[offset].clone()).collect()
            }
        };
        let of_part = |(part, elements): (usize, &Trust<Elements<T>>)| {
            let cuts = open.iter().filter(|cuts| cuts.left(part) > 0);
            elements.apply_with_async(copy, cuts.map(|cuts| cuts.middle(part)).collect())
        };
        let pending: Vec<_> = self.parts.iter().enumerate().map(of_part).collect();
        let mut middles: Vec<_> = waited(pending).into_iter().map(Vec::into_iter).collect();
        let mut pivots = Vec::new();
        for cuts in open {
            let mut candidates = Vec::new();
            for (part, middles) in middles.iter_mut().enumerate().filter(|(part, _)| cuts.left(*part) > 0) {
                let middle = middles.next().map(|element| Pivot { element, part, offset: cuts.middle(part) });
                candidates.extend(middle);
            }
            candidates.sort_by(|one, other| compare(&one.element, &other.element));
            let half = cuts.low.iter().zip(&cuts.high).map(|(low, high)| high - low).sum::<usize>() / 2;
            let mut passed = 0;
            pivots.extend(candidates.into_iter().find(|candidate| {
                passed += cuts.left(candidate.part);
                passed > half
            }));
        }
        pivots
    }

    /// For each part, how many of its elements come before each pivot.
    #[track_caller]
    fn before<N, C: NoRef + Clone, F, G>(
        &self,
        pivots: &[Pivot<T>],
        compare: F,
        arguments: C,
    ) -> Vec<Vec<usize>>
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(&T, &T) -> Ordering,
    {
        let count = move |elements: &mut Elements<T>,
                          (part, pivots, arguments): (usize, Vec<Pivot<T>>, C)| {
            let compare = compare(arguments);
            let before = |pivot: Pivot<T>| match part.cmp(&pivot.part) {
                Ordering::Equal => pivot.offset,
                side => elements.partition_point(|element| {
                    // Of equal elements those of a lower part come first.
                    compare(element, &pivot.element).then(side) == Ordering::Less
                }),
            };
            pivots.into_iter().map(before).collect::<Vec<usize>>()
        };
        let at = Location::caller();
        let send = |(part, elements): (usize, &Trust<Elements<T>>)| {
            elements.send::<N, _, _, _>(count, (part, pivots.to_vec(), arguments.clone()), at)
        };
        waited(self.parts.iter().enumerate().map(send).collect())
    }
}
