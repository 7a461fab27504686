//! `graph500_plain`: the searches of the example `graph500` on its graphs, from its keys, by plain pinned threads that share memory. See `--help`.

#[expect(dead_code, reason = "edges are not distributed here")]
#[path = "../../../../examples/graph500/src/edges.rs"]
mod edges;
mod graph;
#[expect(dead_code, reason = "edges are made one by one")]
#[path = "../../../../examples/graph500/src/kronecker.rs"]
mod kronecker;
#[expect(dead_code, reason = "rows are made in place")]
#[path = "../graphs/plain.rs"]
mod plain;
mod progress;
#[path = "../../../../examples/graph500/src/random.rs"]
mod random;
#[path = "../../../../examples/graph500/src/report.rs"]
mod report;
#[path = "../../../../examples/graph500/src/statistics.rs"]
mod statistics;

use benches::machine;
use benches::rounds::{self, timed};
use graph::{EDGEFACTOR, construct, kronecker, search_keys};
use report::{Report, Search, Searches};
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "\
usage: graph500_plain [--threads N] [--scale N] [--roots N]

Searches the graph of `graph500 --scale N` (default 16) from the same keys (default 12), on N plain threads (default 2), each pinned, and
prints the output block of the specification. Both searches have to reach the same vertices; nothing else is validated.";

/// As `graph500` had it before it told light edges from heavy ones, and as good here as any other.
const DELTA: f32 = 0.1;

fn run(threads: usize, scale: u32, roots: usize) -> Report {
    let graph = kronecker(scale);
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
