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

/// Puts the edges of each row that are shorter than `delta` first.
#[gossamer::delegate]
pub fn light_first(graph: &DistVec<Vec<(u32, f32)>>, delta: f32) {
    graph.par_for_each(move |_, row: &mut Vec<(u32, f32)>| row.sort_by_key(|(_, length)| *length >= delta));
}

/// The lengths of the shortest paths from `root`, by delta-stepping (Meyer and Sanders, 2003), and how many rounds it
/// took. Rows have their light edges first: a vertex needs them each time it comes nearer, and the others once, when
/// all of its bucket is settled. A vertex that was found nearer than its bucket meanwhile has had its turn.
#[gossamer::delegate]
pub fn shortest_paths(graph: &DistVec<Vec<(u32, f32)>>, root: u32, delta: f32) -> (DistVec<f32>, u32) {
    let distances = DistVec::filled(graph.len(), f32::INFINITY);
    distances.set(root as usize, 0.0);
    let (mut front, mut rounds) = (Frontier::of(&distances), 0);
    (0..2).for_each(|kind| front.mark_at(root as usize, kind));
    while front.swap() > 0 {
        rounds += 1;
        let (bucket, is_heavy) = (front.priority() / 2, front.priority() % 2 == 1);
        front
            .par_for_each(graph, |_, distance, row, out| {
                let edges = row.iter().skip_while(|edge| is_heavy && edge.1 < delta);
                let edges = edges.take_while(|edge| is_heavy || edge.1 < delta);
                if (*distance / delta) as usize >= bucket {
                    edges.for_each(|(v, length)| out.least(*v as usize, distance + length));
                }
            })
            .apply(|distance, new, next| {
                if new < *distance {
                    *distance = new;
                    (0..2).for_each(|kind| next.mark_at(2 * (new / delta) as usize + kind));
                }
            });
    }
    (distances, rounds)
}
