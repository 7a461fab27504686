//! `graph bfs` and `graph sssp`: searches of a Kronecker graph that is spread over all workers, checked against one thread.
//!
//! `cargo run --release -p examples --bin graph -- bfs 16`; on two nodes `gossamer run --local 2 -- target/release/graph sssp 16`.

mod kronecker;
mod search;

use gossamer::collections::DistVec;
use kronecker::Kronecker;
use search::NONE;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::process::ExitCode;
use std::time::Instant;

/// As of the lengths of edges, which are below 1.
const DELTA: f32 = 0.1;

#[gossamer::main]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let scale = arguments.get(1).map_or(Ok(14), |scale| scale.parse());
    match (arguments.first().map(String::as_str), scale) {
        (Some("bfs"), Ok(scale @ 1..=30)) => bfs(Kronecker { scale }),
        (Some("sssp"), Ok(scale @ 1..=30)) => sssp(Kronecker { scale }),
        _ => {
            eprintln!(
                "usage: graph bfs|sssp [SCALE]\n\nA graph of 2^SCALE vertices (1 to 30, default 14) and 16 times as many edges."
            );
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The vertex with the most edges.
fn root(rows: &[Vec<(u32, f32)>]) -> u32 {
    (0..rows.len()).max_by_key(|vertex| rows[*vertex].len()).unwrap_or(0) as u32
}

fn bfs(graph: Kronecker) {
    let rows = graph.rows().to_vec();
    let neighbours = rows.iter().map(|row| row.iter().map(|(to, _)| *to).collect()).collect();
    let spread = DistVec::from_vec(graph.vertices(), neighbours);
    let root = root(&rows);
    let begun = Instant::now();
    let (parents, rounds) = search::breadth_first(&spread, root);
    let took = begun.elapsed();

    let (parents, levels) = (parents.to_vec(), levels(&rows, root));
    for (vertex, parent) in parents.iter().enumerate() {
        assert_eq!(*parent == NONE, levels[vertex] == NONE, "whether vertex {vertex} is reached");
        if *parent != NONE && vertex != root as usize {
            assert_eq!(levels[*parent as usize] + 1, levels[vertex], "the level of vertex {vertex}");
            let row = &rows[*parent as usize];
            assert!(row.iter().any(|(to, _)| *to as usize == vertex), "there is an edge to vertex {vertex}");
        }
    }
    let reached = parents.iter().filter(|parent| **parent != NONE).count();
    println!("{reached} of {} vertices reached in {rounds} rounds: each by a shortest path", parents.len());
    eprintln!("{took:?}");
}

fn sssp(graph: Kronecker) {
    let spread = graph.rows();
    let rows = spread.to_vec();
    let root = root(&rows);
    search::light_first(&spread, DELTA);
    let begun = Instant::now();
    let (distances, rounds) = search::shortest_paths(&spread, root, DELTA);
    let took = begun.elapsed();

    let (found, expected) = (distances.to_vec(), dijkstra(&rows, root));
    // Sums along paths are equal in both, term by term.
    assert!(found == expected, "the lengths are those of Dijkstra's algorithm");
    let reached = found.iter().filter(|distance| distance.is_finite());
    let furthest = reached.clone().copied().fold(0.0, f32::max);
    println!(
        "{} of {} vertices reached in {rounds} rounds, the furthest at {furthest}: each by a shortest path",
        reached.count(),
        found.len()
    );
    eprintln!("{took:?}");
}

/// How many edges away each vertex is.
fn levels(rows: &[Vec<(u32, f32)>], root: u32) -> Vec<u32> {
    let mut levels = vec![NONE; rows.len()];
    levels[root as usize] = 0;
    let mut queue = VecDeque::from([root as usize]);
    while let Some(vertex) = queue.pop_front() {
        for (to, _) in &rows[vertex] {
            if levels[*to as usize] == NONE {
                levels[*to as usize] = levels[vertex] + 1;
                queue.push_back(*to as usize);
            }
        }
    }
    levels
}

fn dijkstra(rows: &[Vec<(u32, f32)>], root: u32) -> Vec<f32> {
    let mut distances = vec![f32::INFINITY; rows.len()];
    distances[root as usize] = 0.0;
    // Floating-point numbers that are not negative have the same order as their bits.
    let mut queue = BinaryHeap::from([Reverse((0, root))]);
    while let Some(Reverse((bits, vertex))) = queue.pop() {
        let distance = f32::from_bits(bits);
        if distance > distances[vertex as usize] {
            continue;
        }
        for (to, length) in &rows[vertex as usize] {
            let new = distance + length;
            if new < distances[*to as usize] {
                distances[*to as usize] = new;
                queue.push(Reverse((new.to_bits(), *to)));
            }
        }
    }
    distances
}
