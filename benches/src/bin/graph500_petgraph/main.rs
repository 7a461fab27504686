//! `graph500_petgraph`: the searches of the example `graph500` on its graphs, from its keys, by petgraph, on one thread. See `--help`.

#[expect(dead_code, reason = "edges are not distributed here")]
#[path = "../../../../examples/graph500/src/edges.rs"]
mod edges;
#[path = "../graph500_plain/graph.rs"]
mod graph;
#[expect(dead_code, reason = "edges are made one by one")]
#[path = "../../../../examples/graph500/src/kronecker.rs"]
mod kronecker;
#[expect(dead_code, reason = "only its rows are needed")]
#[path = "../graphs/plain.rs"]
mod plain;
#[path = "../graph500_plain/progress.rs"]
mod progress;
#[path = "../../../../examples/graph500/src/random.rs"]
mod random;
#[path = "../../../../examples/graph500/src/report.rs"]
mod report;
#[path = "../../../../examples/graph500/src/statistics.rs"]
mod statistics;

use benches::rounds::{self, timed};
use graph::{EDGEFACTOR, construct, kronecker, search_keys};
use petgraph::algo::dijkstra;
use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::visit::Bfs;
use report::{Report, Search, Searches};
use std::process::ExitCode;

const USAGE: &str = "\
usage: graph500_petgraph [--scale N] [--roots N]

Searches the graph of `graph500 --scale N` (default 16) from the same keys (default 12), by petgraph on one thread: `Bfs`, which visits
vertices and keeps no parents, and `dijkstra`, which finds distances. Prints the output block of the specification.";

fn run(scale: u32, roots: usize) -> Report {
    let graph = kronecker(scale);
    let (edges, generation) =
        timed(|| (0..graph.edges()).map(|number| graph.edge(number)).collect::<Vec<_>>());
    let ((rows, ends), _) = timed(|| construct(edges, graph.vertices()));
    let keys = search_keys(&rows, roots);
    // Each edge once, without loops and those that are longer than another, as the other programs have them.
    let (graph, construction) = timed(|| {
        let each = (0..rows.vertices() as u32).flat_map(|from| {
            let row = rows.row(from).map(|edge| (rows.to[edge], rows.lengths[edge]));
            row.filter(move |(to, _)| from < *to).map(move |(to, length)| (from, to, length))
        });
        let mut graph: UnGraph<(), f32> = UnGraph::from_edges(each);
        // The last vertices may have no edges.
        (graph.node_count()..rows.vertices()).for_each(|_| _ = graph.add_node(()));
        graph
    });
    drop(rows);
    let [mut bfs, mut sssp] = ["bfs", "sssp"].map(|kernel| Searches { kernel, searches: Vec::new() });
    for key in keys {
        let key = NodeIndex::new(key as usize);
        let (found, breadth_first) = timed(|| {
            let (mut search, mut found) = (Bfs::new(&graph, key), Vec::new());
            while let Some(vertex) = search.next(&graph) {
                found.push(vertex);
            }
            found
        });
        let (distances, shortest_paths) = timed(|| dijkstra(&graph, key, None, |edge| *edge.weight()));
        assert_eq!(found.len(), distances.len(), "both reach the same");
        let edges = found.iter().map(|vertex| u64::from(ends[vertex.index()])).sum::<u64>() / 2;
        for (searches, seconds) in [(&mut bfs, breadth_first), (&mut sssp, shortest_paths)] {
            searches.searches.push(Search { seconds, edges, validated: None });
        }
    }
    Report {
        scale,
        edgefactor: EDGEFACTOR.into(),
        keys: bfs.searches.len(),
        generation,
        processes: 1,
        construction,
        kernels: vec![bfs, sssp],
    }
}

fn main() -> ExitCode {
    match rounds::options("graph500_petgraph", USAGE, [("--scale", 16), ("--roots", 12)]) {
        Ok([scale, _]) if scale > 31 => {
            eprintln!("graph500_petgraph: --scale {scale}: at most 31");
            ExitCode::from(2)
        }
        Ok([scale, roots]) => {
            print!("{}", run(scale as u32, roots));
            ExitCode::SUCCESS
        }
        Err(status) => status,
    }
}
