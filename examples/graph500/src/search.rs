//! Kernels 2 and 3: the searches.

use crate::path::{NONE, Path};
use crate::row::Row;
use gossamer::collections::{DistVec, Frontier};
use gossamer::{TeamMember, Workers};

/// The cost of a search.
#[derive(Clone, Copy, Debug, Default)]
pub struct Effort {
    pub rounds: u32,
    /// How many times batches told a vertex of a path to it.
    pub updates: u64,
}

/// Breadth-first search: the parent of each vertex, in a tree of paths with the fewest edges.
#[gossamer::delegate]
pub fn breadth_first(graph: &DistVec<Row>, key: u32) -> (DistVec<u32>, Effort) {
    let parents = DistVec::filled(graph.len(), NONE);
    parents.set(key as usize, key);
    let (mut front, mut effort) = (Frontier::of(&parents), Effort::default());
    front.mark(key as usize);
    while front.swap() > 0 {
        effort.rounds += 1;
        effort.updates += front
            .par_for_each(graph, |u, _, row, out| {
                row.neighbours().iter().for_each(|v| out.once(*v as usize, u as u32));
            })
            .apply(|parent, u, next| {
                if *parent == NONE {
                    *parent = u;
                    next.mark();
                }
            });
    }
    (parents, effort)
}

/// The shortest paths to all vertices, by delta-stepping (Meyer and Sanders, 2003). A vertex relaxes its light edges each
/// time it comes nearer, and the others once, when all of its bucket is settled: each bucket has a priority for either.
#[gossamer::delegate]
pub fn shortest_paths(graph: &DistVec<Row>, key: u32, delta: f32) -> (DistVec<Path>, Effort) {
    let paths = DistVec::filled(graph.len(), Path::UNKNOWN);
    paths.set(key as usize, Path::new(0.0, key));
    let (mut front, mut effort) = (Frontier::of(&paths), Effort::default());
    (0..2).for_each(|priority| front.mark_at(key as usize, priority));
    while front.swap() > 0 {
        effort.rounds += 1;
        let (bucket, is_heavy) = (front.priority() / 2, front.priority() % 2 == 1);
        effort.updates += front
            .par_for_each(graph, |u, path, row, out| {
                // A vertex that was found nearer meanwhile has had its turn.
                if bucket_of(path, delta) < bucket {
                    return;
                }
                let relax = |(v, weight)| {
                    out.least(v as usize, Path::new(path.distance() + weight, u as u32));
                };
                if is_heavy { row.heavy().for_each(relax) } else { row.light().for_each(relax) }
            })
            .apply(|path, new, next| {
                if new < *path {
                    *path = new;
                    let bucket = bucket_of(path, delta);
                    (0..2).for_each(|kind| next.mark_at(2 * bucket + kind));
                }
            });
    }
    (paths, effort)
}

/// With very narrow buckets the last one has all that is farther away.
fn bucket_of(path: &Path, delta: f32) -> usize {
    ((path.distance() / delta) as usize).min(usize::MAX / 4)
}

/// Input edges whose ends were reached, including loops and multiple edges: the number that the specification divides
/// by the time.
pub fn traversed_edges(graph: &DistVec<Row>, parents: &DistVec<u32>) -> u64 {
    let ends = const {
        |_: &TeamMember, (graph, parents): (DistVec<Row>, DistVec<u32>)| {
            let is_reached =
                |parents: &[u32]| parents.iter().map(|parent| *parent != NONE).collect::<Vec<_>>();
            let reached = parents.local(|parents| is_reached(parents)).unwrap_or_default();
            let ends = graph.local(|rows| {
                let reached = rows.iter().zip(reached).filter(|(_, is_reached)| *is_reached);
                reached.map(|(row, _)| u64::from(row.ends())).sum::<u64>()
            });
            ends.unwrap_or(0)
        }
    };
    Workers::all().each_with(ends, (graph.clone(), parents.clone())).into_iter().sum::<u64>() / 2
}
