//! Which vertices are searched from.

use crate::path::NONE;
use crate::random::Random;
use crate::row::Row;
use gossamer::collections::DistVec;
use std::collections::HashSet;

/// This many different vertices that have an edge other than a loop, all equally likely; all such vertices if there are fewer.
pub fn search_keys(rows: &DistVec<Row>, count: usize, seed: u64) -> Vec<u32> {
    let number = const { |vertex, row: &Row| if row.neighbours().is_empty() { NONE } else { vertex as u32 } };
    let eligible = rows.par_map(number).par_filter(const { |_, vertex: &u32| *vertex != NONE });
    if eligible.len() <= count {
        return eligible.to_vec();
    }
    let (mut random, mut places, mut seen) = (Random::of(seed, u64::MAX), Vec::new(), HashSet::new());
    while places.len() < count {
        let place = random.below(eligible.len() as u64) as usize;
        if seen.insert(place) {
            places.push(place);
        }
    }
    eligible.gather(places)
}
