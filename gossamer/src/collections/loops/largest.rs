//! The largest elements of a vector, and the entries of a map with the largest values.

use crate::NoRef;
use crate::collections::dist_map::OwnEntries;
use crate::collections::parts::OwnPart;
use crate::collections::{DistMap, DistVec};
use crate::worker::require_fiber;
use std::cmp::{Ordering, Reverse};

/// The `count` largest of all that were offered, and at most as many that were, before larger ones came.
struct Largest<R, P> {
    count: usize,
    kept: Vec<(R, P)>,
    /// How many of the first of `kept` were the largest at the last look; the last of these is the smallest.
    chosen: usize,
}

impl<R: Ord, P> Largest<R, P> {
    fn new(count: usize) -> Self {
        Self { count, kept: Vec::new(), chosen: 0 }
    }

    /// Offers a value, which is only made if it may be kept. `exceeds` tells whether it is larger than another.
    fn offer(&mut self, exceeds: impl FnOnce(&R) -> bool, make: impl FnOnce() -> (R, P)) {
        let least = self.chosen.checked_sub(1).map(|last| &self.kept[last].0);
        if self.count == 0 || least.is_some_and(|least| !exceeds(least)) {
            return;
        }
        self.kept.push(make());
        if self.kept.len() >= self.count.saturating_mul(2) {
            self.kept.select_nth_unstable_by(self.count - 1, larger_first);
            self.kept.truncate(self.count);
            self.chosen = self.count;
        }
    }

    /// The largest first.
    fn into_vec(self) -> Vec<(R, P)> {
        let Self { count, mut kept, .. } = self;
        kept.sort_unstable_by(larger_first);
        kept.truncate(count);
        kept
    }
}

fn larger_first<R: Ord, P>((one, _): &(R, P), (other, _): &(R, P)) -> Ordering {
    other.cmp(one)
}

/// The largest of those that each worker has found.
fn of_all<R: Ord, P>(count: usize, found: Vec<Vec<(R, P)>>) -> Vec<(R, P)> {
    let mut largest: Vec<(R, P)> = found.into_iter().flatten().collect();
    // Each worker's are in order: this sort merges them.
    largest.sort_by(larger_first);
    largest.truncate(count);
    largest
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
    /// A fiber on each worker, which looks at each element, clones those that may be among the largest, keeps
    /// fewer than `2 * count` of them at a time, and answers with at most `count`. The vector is not sorted.
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
    /// A fiber on each worker, which looks at each entry, clones those that may be among the largest, keeps fewer
    /// than `2 * count` of them at a time, and answers with at most `count`. It takes turns and visits entries like
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
