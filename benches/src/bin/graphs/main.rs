//! `graphs`: breadth-first search and shortest paths of the example `graph`, beside the same on plain pinned threads. See `--help`.

mod each;
#[path = "../../../../examples/src/bin/graph/kronecker.rs"]
mod kronecker;
mod plain;
#[path = "../../../../examples/src/bin/graph/search.rs"]
mod search;

use benches::rounds::{self, Figures, timed};
use gossamer::collections::DistVec;
use gossamer::{Config, Trustee, rack};
use kronecker::Kronecker;
use std::process::ExitCode;
use std::sync::Arc;

const USAGE: &str = "\
usage: graphs [--threads N] [--nodes N] [--scale N] [--roots N]

Searches a Kronecker graph of 2^N vertices (default 16) from so many roots (default 12), on N workers (default 2) of
each of N nodes (default 1; more of them are in this process; with GOSSAMER_PIN=0 and `gossamer run --local N`, they
are N processes), and on as many plain pinned threads: in turn, root by root. Both results are compared. The breadth-
first search also sends all edges, in batches and one by one; delegated closures cannot wait, so theirs queue up: 0 if
there are too many. Lines give the median, least and most of the roots, in millions of edges a second (those of the
vertices that were reached, each counted once), and of the ratios for each root.";

/// As of the lengths of edges, which are below 1.
const DELTA: f32 = 0.1;

/// A fiber calls this: workers are idle meanwhile, and asleep.
fn plainly<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> (R, f64) {
    gossamer::unblock(move || timed(work))
}

fn run(scale: usize, roots: usize) {
    let threads = Trustee::all().len();
    let spread = Kronecker { scale: scale as u32 }.rows();
    let rows = spread.to_vec();
    search::light_first(&spread, DELTA);
    let neighbours: Vec<Vec<u32>> = rows.iter().map(|row| row.iter().map(|(to, _)| *to).collect()).collect();
    let parts = each::parts(&neighbours);
    let neighbours = DistVec::from_vec(rows.len(), neighbours);
    let plain = Arc::new(plain::Rows::new(&rows));
    let roots: Vec<u32> =
        (0..).step_by(7).filter(|root| rows[*root as usize % rows.len()].len() > 1).take(roots + 1).collect();
    let mut figures = Figures::default();
    // The first warms up.
    for (round, root) in roots.into_iter().map(|root| root % rows.len() as u32).enumerate() {
        let ((parents, _), ours) = timed(|| search::breadth_first(&neighbours, root));
        let (shared, parents) = (Arc::clone(&plain), parents.to_vec());
        let (theirs, other) = plainly(move || plain::breadth_first(&shared, root, threads));
        let is_reached = |parent: &u32| *parent != search::NONE;
        assert!(parents.iter().map(is_reached).eq(theirs.iter().map(is_reached)), "as many are reached");
        let reached = || parents.iter().zip(&rows).filter(|(parent, _)| is_reached(parent));
        let edges = reached().map(|(_, row)| row.len()).sum::<usize>() as f64 / 2e6;
        let bfs = (edges / ours, edges / other);
        let (sent, all_sent) = timed(|| each::batched(&neighbours, root));
        assert!((sent as f64 - 2e6 * edges).abs() < 0.5, "an update for each edge");
        let ((), fibers) = timed(|| each::from_fibers(&parts, root));
        assert!(each::parents(&parts).iter().map(is_reached).eq(theirs.iter().map(is_reached)));
        let (is_complete, closures) = timed(|| each::from_closures(&parts, root));
        let (all_sent, fibers) = (edges / all_sent, edges / fibers);
        let closures = if is_complete { edges / closures } else { 0.0 };

        let ((distances, _), ours) = timed(|| search::shortest_paths(&spread, root, DELTA));
        let shared = Arc::clone(&plain);
        let (theirs, other) = plainly(move || plain::shortest_paths(&shared, root, DELTA, threads));
        assert!(distances.to_vec() == theirs, "the distances are the same");
        let sssp = (edges / ours, edges / other);
        if round > 0 {
            figures.add([
                bfs.0,
                bfs.1,
                bfs.0 / bfs.1,
                all_sent,
                fibers,
                all_sent / fibers,
                closures,
                sssp.0,
                sssp.1,
                sssp.0 / sssp.1,
            ]);
        }
    }
    let title = format!("{threads} workers, scale {scale}, millions of edges a second");
    let names = [
        "BFS, `Frontier`",
        "BFS, plain threads",
        "ratio",
        "BFS, `Frontier`, all edges sent",
        "BFS, a request for each edge, from fibers",
        "`Frontier`, all edges sent, is so many times as fast",
        "BFS, a request for each edge, from delegated closures",
        "SSSP, `Frontier`",
        "SSSP, plain threads",
        "ratio",
    ];
    figures.print(&title, names);
}

fn main() -> ExitCode {
    let defaults = [("--threads", 2), ("--nodes", 1), ("--scale", 16), ("--roots", 12)];
    let [threads, nodes, scale, roots] = match rounds::options("graphs", USAGE, defaults) {
        Ok(options) => options,
        Err(status) => return status,
    };
    let config = Config::default().threads(threads).pin(nodes == 1);
    match nodes {
        1 => gossamer::run(config, move || run(scale, roots)),
        _ => rack::run_in_process(nodes, config, move || run(scale, roots)),
    }
    ExitCode::SUCCESS
}
