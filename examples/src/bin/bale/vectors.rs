//! Histogram, index gather, and a random permutation.

use crate::{random, timed};
use gossamer::collections::{DistVec, Layout};
use gossamer::{TeamMember, Workers};
use std::time::Duration;

/// Each worker counts so many random elements.
pub fn histogram(updates: usize, len: usize) -> (String, Duration) {
    let counts = DistVec::filled(Layout::cyclic(len), 0_u32);
    let count = const {
        |member: &TeamMember, (counts, each): (DistVec<u32>, usize)| {
            let mut updates = counts.updates(const { |count: &mut u32, ()| *count += 1 });
            updates.extend((0..each).map(|number| (random(member.index(), number, counts.len()), ())));
            updates.finish();
        }
    };
    let (_, elapsed) = timed(|| Workers::all().each_with(count, (counts.clone(), updates)));

    let (workers, mut expected) = (Workers::all().trustees().len(), vec![0; len]);
    for worker in 0..workers {
        (0..updates).for_each(|number| expected[random(worker, number, len)] += 1);
    }
    assert!(counts.to_vec() == expected, "each count is right");
    (format!("{} updates of {len} elements by {workers} workers", workers * updates), elapsed)
}

/// Each worker looks up so many random elements.
pub fn gather(look_ups: usize, len: usize) -> (String, Duration) {
    let table = DistVec::from_fn(Layout::cyclic(len), const { |index| 3 * index as u64 + 1 });
    let look_up = const {
        |member: &TeamMember, (table, each): (DistVec<u64>, usize)| {
            let index = |number| random(member.index(), number, table.len());
            member.barrier();
            let (found, elapsed) = timed(|| {
                let found = table.gather((0..each).map(index));
                // The check below would keep this worker from answering those that are not done yet.
                member.barrier();
                found
            });
            assert!((0..each).map(index).eq(found.iter().map(|found| (*found as usize - 1) / 3)));
            (found.len(), elapsed)
        }
    };
    let found = Workers::all().each_with(look_up, (table, look_ups));
    let slowest = found.iter().map(|(_, elapsed)| *elapsed).max().unwrap_or_default();
    let found: usize = found.into_iter().map(|(found, _)| found).sum();
    (format!("{found} look-ups in {len} elements, each right"), slowest)
}

pub fn permutation(size: usize) -> (String, Duration) {
    let (permutation, elapsed) = timed(|| random_permutation(size, 0));
    let permutation = permutation.to_vec();
    let mut sorted = permutation.clone();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..size as u32), "each number is there once");
    let fixed = permutation.iter().enumerate().filter(|(index, number)| *index == **number as usize).count();
    (format!("{size} numbers, each once, {fixed} of them in their places"), elapsed)
}

/// Numbers are thrown at twice as many places, again and again until each has hit a free one. Then the gaps are
/// removed.
pub fn random_permutation(size: usize, stream: usize) -> DistVec<u32> {
    const FREE: u32 = u32::MAX;
    let (places, permutation) = (DistVec::filled(2 * size, FREE), DistVec::filled(size, FREE));
    let throw = const {
        |member: &TeamMember, (places, permutation, stream): (DistVec<u32>, DistVec<u32>, usize)| {
            let mut left: Vec<u32> =
                (0..permutation.len() as u32).skip(member.index()).step_by(member.count()).collect();
            for round in 1.. {
                let target = |number: u32| random(stream << 10 | round, number as usize, places.len());
                let mut throws = places.updates(
                    const {
                        |place: &mut u32, number| {
                            if *place == FREE {
                                *place = number;
                            }
                        }
                    },
                );
                left.iter().for_each(|number| throws.push(target(*number), *number));
                throws.finish();
                let mut hit = places.gather(left.iter().map(|number| target(*number))).into_iter();
                left.retain(|number| hit.next() != Some(*number));
                if left.is_empty() {
                    break;
                }
            }
            member.barrier();
            let own = |places: &mut gossamer::collections::Elements<u32>| {
                places.iter().copied().filter(|place| *place != FREE).collect()
            };
            let own: Vec<u32> = places.local(own).unwrap_or_default();
            let before: usize = member.gather(own.len())[..member.index()].iter().sum();
            permutation.scatter((before..).zip(own));
        }
    };
    Workers::all().each_with(throw, (places, permutation.clone(), stream));
    permutation
}
