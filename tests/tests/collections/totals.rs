//! Counters, and the largest of all elements.

use crate::layouts;
use gossamer::collections::{DistCounter, DistMap, DistVec};
use gossamer::{Trustee, rack, spawn_on};
use integration_tests::{on_nodes, panic_text};
use std::cmp::Reverse;

#[test]
fn what_all_workers_add_is_counted_once() {
    on_nodes(2, 2, count);
}

#[gossamer::delegate]
fn count() {
    let counter = DistCounter::new();
    let mut fibers = Vec::new();
    for trustee in Trustee::all() {
        let counter = counter.clone();
        fibers.push(spawn_on(trustee, move || {
            let property = gossamer::entrust(());
            for number in 0..100 {
                counter.add(number);
                // Where waiting is not possible.
                let inner = counter.clone();
                property.apply(move |()| inner.add(1000));
            }
        }));
    }
    fibers.into_iter().for_each(|fiber| fiber.join());
    rack::wait_all();
    let expected = Trustee::all().len() as u64 * (4950 + 100_000);
    assert_eq!(counter.sum(), expected);
    assert_eq!((counter.take(), counter.sum()), (expected, 0));
    counter.add(u64::MAX);
    counter.add(8);
    assert_eq!(counter.sum(), 7);
}

#[test]
fn the_largest_elements_are_those_of_a_sorted_vec() {
    on_nodes(2, 2, || {
        for (seed, len) in [0, 1, 7, 5000].into_iter().enumerate() {
            let mut random = fastrand::Rng::with_seed(seed as u64);
            let values: Vec<u32> = (0..len).map(|_| random.u32(..300)).collect();
            let mut sorted: Vec<(usize, u32)> = values.iter().copied().enumerate().collect();
            sorted.sort_by_key(|(index, value)| (Reverse(*value), *index));
            for layout in layouts(len) {
                let vector = DistVec::from_vec(layout, values.clone());
                for count in [0, 1, 40, len, usize::MAX] {
                    assert_eq!(vector.par_largest(count), sorted[..count.min(len)]);
                }
            }
        }
    });
}

#[test]
fn the_entries_with_the_largest_values_are_those_of_a_sorted_vec() {
    on_nodes(2, 2, || {
        let map = DistMap::new();
        let mut merges = map.merges(const { |value: &mut u64, more| *value += more });
        (0..20_000_u64).for_each(|number| merges.push(number, number * 7919 % 20_011));
        merges.finish();
        let mut sorted: Vec<_> = (0..20_000_u64).map(|number| (number, number * 7919 % 20_011)).collect();
        sorted.sort_by_key(|(_, value)| Reverse(*value));
        for count in [0, 1, 100, usize::MAX] {
            assert_eq!(map.par_largest(count), sorted[..count.min(sorted.len())]);
        }
    });
}

#[test]
fn a_comparison_that_panics_ends_the_search_and_loses_nothing() {
    on_nodes(1, 2, || {
        let vector = DistVec::from_vec(100, (0..100).map(Fragile).collect());
        let text = panic_text(|| vector.par_largest(3));
        assert!(text.contains("70 is not compared"), "{text}");
        assert_eq!(vector.to_vec().len(), 100);
    });
}

/// One of them cannot be compared.
#[derive(Clone, PartialEq, Eq, gossamer::NoRef)]
struct Fragile(u32);

impl Ord for Fragile {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        assert!(self.0 != 70 && other.0 != 70, "70 is not compared");
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Fragile {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
