//! The graph of the example `graph500`, as rows one after another, and the keys that it is searched from.

use crate::edges::Edge;
use crate::kronecker::Kronecker;
use crate::plain;
use crate::random::Random;
use std::collections::HashSet;

pub const EDGEFACTOR: u32 = 16;
/// As `graph500` has it.
const SEED: u64 = 1;

pub fn kronecker(scale: u32) -> Kronecker {
    Kronecker { scale, edgefactor: EDGEFACTOR, seed: SEED }
}

/// Rows one after another, and how many ends of input edges each vertex has. This needs no more memory than the rows
/// and the list of edges, which is used up.
pub fn construct(edges: Vec<Edge>, vertices: usize) -> (plain::Rows, Vec<u32>) {
    let mut ends = vec![0; vertices];
    let mut starts = vec![0; vertices + 1];
    for edge in &edges {
        for vertex in [edge.from, edge.to] {
            ends[vertex as usize] += 1;
            starts[vertex as usize + 1] += usize::from(edge.from != edge.to);
        }
    }
    (0..vertices).for_each(|vertex| starts[vertex + 1] += starts[vertex]);
    let (mut to, mut lengths) = (vec![0; starts[vertices]], vec![0.0; starts[vertices]]);
    let mut next = starts.clone();
    for edge in edges.into_iter().filter(|edge| edge.from != edge.to) {
        for (from, neighbour) in [(edge.from, edge.to), (edge.to, edge.from)] {
            let place = &mut next[from as usize];
            (to[*place], lengths[*place]) = (neighbour, edge.weight);
            *place += 1;
        }
    }
    // Among several edges to one neighbour only the lightest stays, and rows move together.
    let (mut row, mut kept) = (Vec::new(), 0);
    for vertex in 0..vertices {
        let places = starts[vertex]..next[vertex];
        row.extend(places.map(|place| (to[place], lengths[place])));
        row.sort_unstable_by(|one: &(u32, f32), other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        row.dedup_by_key(|(neighbour, _)| *neighbour);
        starts[vertex] = kept;
        for (neighbour, length) in row.drain(..) {
            (to[kept], lengths[kept]) = (neighbour, length);
            kept += 1;
        }
    }
    starts[vertices] = kept;
    to.truncate(kept);
    lengths.truncate(kept);
    (plain::Rows { starts, to, lengths }, ends)
}

/// As `graph500` chooses them.
pub fn search_keys(rows: &plain::Rows, count: usize) -> Vec<u32> {
    let eligible: Vec<u32> =
        (0..rows.vertices() as u32).filter(|vertex| !rows.row(*vertex).is_empty()).collect();
    if eligible.len() <= count {
        return eligible;
    }
    let (mut random, mut keys, mut seen) = (Random::of(SEED, u64::MAX), Vec::new(), HashSet::new());
    while keys.len() < count {
        let place = random.below(eligible.len() as u64) as usize;
        if seen.insert(place) {
            keys.push(eligible[place]);
        }
    }
    keys
}
