//! The searches.

use gossamer::collections::{DistVec, Frontier};

pub const NONE: u32 = u32::MAX;

/// Breadth-first search: the parent of each vertex in a tree of shortest paths from `root`, and how many rounds it took.
#[gossamer::delegate]
pub fn breadth_first(graph: &DistVec<Vec<u32>>, root: u32) -> (DistVec<u32>, u32) {
    let parents = DistVec::filled(graph.len(), NONE);
    parents.set(root as usize, root);
    let (mut front, mut rounds) = (Frontier::of(&parents), 0);
    front.mark(root as usize);
    while front.swap() > 0 {
        rounds += 1;
        front
            .par_for_each(graph, |u, _, row, out| row.iter().for_each(|v| out.once(*v as usize, u as u32)))
            .apply(|parent, u, next| {
                if *parent == NONE {
                    *parent = u;
                    next.mark();
                }
            });
    }
    (parents, rounds)
}

/// The lengths of the shortest paths from `root`, by delta-stepping (Meyer and Sanders, 2003), and how many rounds it took.
#[gossamer::delegate]
pub fn shortest_paths(graph: &DistVec<Vec<(u32, f32)>>, root: u32, delta: f32) -> (DistVec<f32>, u32) {
    let distances = DistVec::filled(graph.len(), f32::INFINITY);
    distances.set(root as usize, 0.0);
    let (mut front, mut rounds) = (Frontier::of(&distances), 0);
    front.mark(root as usize);
    while front.swap() > 0 {
        rounds += 1;
        let bucket = front.priority();
        front
            .par_for_each(graph, |_, distance, row, out| {
                // A vertex that was found nearer meanwhile has had its turn.
                let row = if ((*distance / delta) as usize) < bucket { &[] } else { &row[..] };
                row.iter().for_each(|(v, length)| out.least(*v as usize, distance + length));
            })
            .apply(|distance, new, next| {
                if new < *distance {
                    *distance = new;
                    next.mark_at((new / delta) as usize);
                }
            });
    }
    (distances, rounds)
}
