//! The largest elements of a vector, and the entries of a map with the largest values.

use crate::NoRef;
use crate::collections::dist_map::OwnEntries;
use crate::collections::parts::OwnPart;
use crate::collections::{DistMap, DistVec};
use crate::worker::require_fiber;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// The `count` largest of all that were offered.
struct Largest<R, P> {
    count: usize,
    /// The smallest of them is on top.
    kept: BinaryHeap<Reverse<Ranked<R, P>>>,
}

/// A value that is ordered by its rank alone.
struct Ranked<R, P> {
    rank: R,
    payload: P,
}

impl<R: Ord, P> Ord for Ranked<R, P> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl<R: Ord, P> PartialOrd for Ranked<R, P> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Ord, P> PartialEq for Ranked<R, P> {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl<R: Ord, P> Eq for Ranked<R, P> {}

impl<R: Ord, P> Largest<R, P> {
    fn new(count: usize) -> Self {
        Self { count, kept: BinaryHeap::new() }
    }

    /// Offers a value, which is only made if it is kept. `exceeds` tells whether it is larger than another.
    fn offer(&mut self, exceeds: impl FnOnce(&R) -> bool, make: impl FnOnce() -> (R, P)) {
        let is_full = self.kept.len() >= self.count;
        if is_full && !self.kept.peek().is_some_and(|least| exceeds(&least.0.rank)) {
            return;
        }
        let (rank, payload) = make();
        self.kept.push(Reverse(Ranked { rank, payload }));
        if is_full {
            self.kept.pop();
        }
    }

    /// The largest first.
    fn into_vec(self) -> Vec<(R, P)> {
        self.kept
            .into_sorted_vec()
            .into_iter()
            .map(|Reverse(Ranked { rank, payload })| (rank, payload))
            .collect()
    }
}

/// The largest of those that each worker has found.
fn of_all<R: Ord, P>(count: usize, found: Vec<Vec<(R, P)>>) -> Vec<(R, P)> {
    let mut largest = Largest::new(count);
    for (rank, payload) in found.into_iter().flatten() {
        largest.kept.push(Reverse(Ranked { rank, payload }));
        if largest.kept.len() > count {
            largest.kept.pop();
        }
    }
    largest.into_vec()
}

impl<T: NoRef + Ord + Clone> DistVec<T> {
    /// The `count` largest elements, or all if there are fewer, with their indices: the largest first, equal ones in
    /// the order of their indices.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let squares: gossamer::collections::DistVec<_> = (0..100_usize).map(|number| number * number % 10).collect();
    /// assert_eq!(squares.par_largest(3), [(3, 9), (7, 9), (13, 9)]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// A fiber on each worker, which looks at each element, clones those that are larger than the smallest it has
    /// kept, and answers with at most `count` of them. The vector is not sorted.
    ///
    /// # Panics
    /// If a comparison or a clone panics, with the index of an element ([Loops](Self#loops)); and where the caller
    /// cannot wait.
    #[track_caller]
    #[must_use]
    pub fn par_largest(&self, count: usize) -> Vec<(usize, T)> {
        require_fiber("par_largest");
        let find = const {
            |part: &OwnPart<T>, count: usize| {
                let mut largest = Largest::new(count);
                part.for_each(|index, element| {
                    let index = Reverse(index);
                    largest.offer(
                        |(least, at): &(T, Reverse<usize>)| (&*element, index) > (least, *at),
                        || ((element.clone(), index), ()),
                    );
                });
                let found = largest.into_vec().into_iter();
                found.map(|((element, Reverse(index)), ())| (element, index)).collect::<Vec<_>>()
            }
        };
        let found = self.on_parts_as_is(find, count).into_iter();
        let ranked =
            found.map(|found| found.into_iter().map(|(element, index)| ((element, Reverse(index)), ())));
        let largest = of_all(count, ranked.map(Iterator::collect).collect()).into_iter();
        largest.map(|((element, Reverse(index)), ())| (index, element)).collect()
    }
}

impl<K: NoRef + Clone, V: NoRef + Ord + Clone> DistMap<K, V> {
    /// The `count` entries with the largest values, or all if there are fewer: the largest first, equal ones in any
    /// order.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = gossamer::collections::DistMap::new();
    /// [('a', 3), ('b', 9), ('c', 5)].map(|(letter, count)| counts.insert(letter, count));
    /// assert_eq!(counts.par_largest(2), [('b', 9), ('c', 5)]);
    /// # });
    /// ```
    ///
    /// # Cost
    /// A fiber on each worker, which looks at each entry, clones those that are larger than the smallest it has kept,
    /// and answers with at most `count` of them. It takes turns and visits entries like
    /// [`par_for_each`](Self::par_for_each).
    ///
    /// # Panics
    /// If a comparison or a clone panics; and where the caller cannot wait.
    #[track_caller]
    #[must_use]
    pub fn par_largest(&self, count: usize) -> Vec<(K, V)> {
        require_fiber("par_largest");
        let find = const {
            |part: &OwnEntries<K, V>, count: usize| {
                let mut largest = Largest::new(count);
                part.for_each(|key, value| {
                    largest.offer(|least| &*value > least, || (value.clone(), key.clone()));
                });
                largest.into_vec()
            }
        };
        let found = self.on_parts_as_is(find, count);
        of_all(count, found).into_iter().map(|(value, key)| (key, value)).collect()
    }
}
