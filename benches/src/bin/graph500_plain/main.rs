//! `graph500_plain`: the searches of the example `graph500` on its graphs, from its keys, by plain pinned threads that share memory. See `--help`.

#[expect(dead_code, reason = "edges are not distributed here")]
#[path = "../../../../examples/graph500/src/edges.rs"]
mod edges;
#[expect(dead_code, reason = "edges are made one by one")]
#[path = "../../../../examples/graph500/src/kronecker.rs"]
mod kronecker;
#[expect(dead_code, reason = "rows are made in place")]
#[path = "../graphs/plain.rs"]
mod plain;
#[path = "../../../../examples/graph500/src/random.rs"]
mod random;
#[path = "../../../../examples/graph500/src/report.rs"]
mod report;
#[path = "../../../../examples/graph500/src/statistics.rs"]
mod statistics;

/// Nobody watches.
mod progress {
    #[derive(Clone, gossamer::NoRef)]
    pub struct Progress;

    impl Progress {
        pub fn advance(&self, _: u64) {}
    }
}

use benches::machine;
use benches::rounds;
use kronecker::Kronecker;
use random::Random;
use report::{Report, Search, Searches};
use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

const USAGE: &str = "\
usage: graph500_plain [--threads N] [--scale N] [--roots N]

Searches the graph of `graph500 --scale N` (default 16) from the same keys (default 12), on N plain threads (default 2), each pinned, and
prints the output block of the specification. Both searches have to reach the same vertices; nothing else is validated.";

const EDGEFACTOR: u32 = 16;
/// As in `graph500`.
const SEED: u64 = 1;
const DELTA: f32 = 0.1;

fn timed<R>(work: impl FnOnce() -> R) -> (R, f64) {
    let begun = Instant::now();
    let result = work();
    (result, begun.elapsed().as_secs_f64())
}

/// The rows one after another, and of how many input edges each vertex is an end. This needs no more memory than the
/// rows and the list of edges, which is consumed.
fn construct(edges: Vec<edges::Edge>, vertices: usize) -> (plain::Rows, Vec<u32>) {
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
    // Of several edges to one neighbour only the lightest stays, and the rows move together.
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
fn search_keys(rows: &plain::Rows, count: usize) -> Vec<u32> {
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

fn run(threads: usize, scale: u32, roots: usize) -> Report {
    let graph = Kronecker { scale, edgefactor: EDGEFACTOR, seed: SEED };
    let (edges, generation) =
        timed(|| (0..graph.edges()).map(|number| graph.edge(number)).collect::<Vec<_>>());
    let ((rows, ends), construction) = timed(|| construct(edges, graph.vertices()));
    let (keys, rows) = (search_keys(&rows, roots), Arc::new(rows));
    let [mut bfs, mut sssp] = ["bfs", "sssp"].map(|kernel| Searches { kernel, searches: Vec::new() });
    for key in &keys {
        let (parents, breadth_first) = timed(|| plain::breadth_first(&rows, *key, threads));
        let (distances, shortest_paths) = timed(|| plain::shortest_paths(&rows, *key, DELTA, threads));
        let by_parent = parents.iter().map(|parent| *parent != plain::NONE);
        assert!(by_parent.eq(distances.iter().map(|far| far.is_finite())), "both reach the same");
        let reached = ends.iter().zip(&parents).filter(|(_, parent)| **parent != plain::NONE);
        let edges = reached.map(|(ends, _)| u64::from(*ends)).sum::<u64>() / 2;
        for (searches, seconds) in [(&mut bfs, breadth_first), (&mut sssp, shortest_paths)] {
            searches.searches.push(Search { seconds, edges, validated: None });
        }
    }
    Report {
        scale,
        edgefactor: EDGEFACTOR.into(),
        keys: keys.len(),
        generation,
        processes: 1,
        construction,
        kernels: vec![bfs, sssp],
    }
}

fn main() -> ExitCode {
    machine::processors(); // before anything is pinned
    match rounds::options("graph500_plain", USAGE, [("--threads", 2), ("--scale", 16), ("--roots", 12)]) {
        Ok([_, scale, _]) if scale > 31 => {
            eprintln!("graph500_plain: --scale {scale}: at most 31");
            ExitCode::from(2)
        }
        Ok([threads, scale, roots]) => {
            print!("{}", run(threads, scale as u32, roots));
            ExitCode::SUCCESS
        }
        Err(status) => status,
    }
}
