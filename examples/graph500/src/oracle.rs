//! Compares searches with other implementations: petgraph's Dijkstra, and a plain breadth-first search. Also checks
//! that wrong results are found.

use crate::agreement::{self, List, Wrong};
use crate::construct::construct;
use crate::edges::{self, Edge};
use crate::keys::search_keys;
use crate::kronecker::Kronecker;
use crate::path::{NONE, Path};
use crate::progress::Progress;
use crate::row::Row;
use crate::search;
use crate::validate::{self, Check};
use gossamer::collections::DistVec;
use gossamer::{Config, rack};
use integration_tests::watched;
use petgraph::algo::dijkstra;
use petgraph::graph::{NodeIndex, UnGraph};
use std::collections::VecDeque;

const DELTA: f32 = 0.1;

/// Runs a test on one worker, on three, and on two nodes of two workers.
fn everywhere(body: fn()) {
    let config = |threads| Config::default().threads(threads).pin(false);
    for threads in [1, 3] {
        watched(move || gossamer::run(config(threads), body));
    }
    watched(move || rack::run_in_process(2, config(2), body));
}

/// All edges of a generated graph, and its rows.
fn generated(scale: u32, seed: u64) -> (Vec<Edge>, DistVec<Row>) {
    let graph = Kronecker { scale, edgefactor: 16, seed };
    let progress = Progress::new();
    let lists = graph.generate(&progress);
    let edges = lists.to_vec().concat().concat();
    assert_eq!(edges, (0..graph.edges()).map(|number| graph.edge(number)).collect::<Vec<_>>());
    let rows = construct(&lists, graph.vertices(), DELTA, false, &progress);
    assert!(lists.to_vec().concat().concat().is_empty(), "they are used up");
    assert_eq!(agreement::check(&List::Generated(graph), &rows, &progress), Ok(()));
    (edges, rows)
}

/// How many edges away each vertex is.
fn levels(edges: &[Edge], vertices: usize, key: u32) -> Vec<u32> {
    let mut rows = vec![Vec::new(); vertices];
    for edge in edges {
        rows[edge.from as usize].push(edge.to);
        rows[edge.to as usize].push(edge.from);
    }
    let mut levels = vec![NONE; vertices];
    levels[key as usize] = 0;
    let mut queue = VecDeque::from([key]);
    while let Some(vertex) = queue.pop_front() {
        for to in &rows[vertex as usize] {
            if levels[*to as usize] == NONE {
                levels[*to as usize] = levels[vertex as usize] + 1;
                queue.push_back(*to);
            }
        }
    }
    levels
}

/// The level of a vertex, from the parents of all.
fn level(parents: &[u32], key: u32, mut vertex: u32) -> u32 {
    for level in 0..parents.len() as u32 {
        if vertex == NONE || vertex == key {
            return if vertex == key { level } else { NONE };
        }
        vertex = parents[vertex as usize];
    }
    panic!("the parents of vertex {vertex} make a cycle")
}

fn compare(scale: u32, keys: usize) {
    let (edges, rows) = generated(scale, 11);
    let petgraph: UnGraph<(), f32> =
        UnGraph::from_edges(edges.iter().map(|edge| (edge.from, edge.to, edge.weight)));
    let keys = search_keys(&rows, keys, 5);
    for key in keys {
        let parents = search::breadth_first(&rows, key).0;
        assert_eq!(validate::breadth_first(&rows, &parents, key), []);
        let expected = levels(&edges, rows.len(), key);
        let list = parents.to_vec();
        assert!((0..rows.len()).all(|vertex| level(&list, key, vertex as u32) == expected[vertex]));

        let reached = |edge: &&Edge| expected[edge.from as usize] != NONE;
        assert_eq!(search::traversed_edges(&rows, &parents), edges.iter().filter(reached).count() as u64);

        let paths = search::shortest_paths(&rows, key, DELTA).0;
        assert_eq!(validate::shortest_paths(&rows, &paths, key), []);
        // Each adds up the lengths from the key on, and rounds in the same way.
        let expected = dijkstra(&petgraph, NodeIndex::new(key as usize), None, |edge| *edge.weight());
        for (vertex, path) in paths.to_vec().into_iter().enumerate() {
            let expected = expected.get(&NodeIndex::new(vertex)).copied().unwrap_or(f32::INFINITY);
            assert_eq!(path.distance(), expected, "vertex {vertex} from {key}");
        }
    }
}

#[test]
fn searches_find_what_petgraph_and_a_plain_search_find() {
    everywhere(|| {
        compare(6, 3);
        compare(10, 2);
    });
    watched(|| gossamer::run(Config::default().threads(2).pin(false), || compare(12, 1)));
}

#[test]
fn searches_of_a_large_graph_find_what_petgraph_finds() {
    watched(|| gossamer::run(Config::default().threads(2).pin(false), || compare(16, 1)));
}

#[test]
#[ignore = "it takes long where nothing is optimised"]
fn searches_of_a_large_graph_find_what_petgraph_finds_everywhere() {
    everywhere(|| compare(16, 4));
}

#[test]
fn the_same_keys_are_drawn_on_any_workers_and_each_has_an_edge() {
    static DRAWN: std::sync::Mutex<Vec<Vec<u32>>> = std::sync::Mutex::new(Vec::new());
    everywhere(|| {
        let (_, rows) = generated(8, 3);
        let keys = search_keys(&rows, 64, 3);
        let degrees = rows.par_map(const { |_, row: &Row| row.neighbours().len() }).to_vec();
        assert!(keys.iter().all(|key| degrees[*key as usize] > 0));
        DRAWN.lock().unwrap().push(keys);
    });
    let drawn = DRAWN.lock().unwrap();
    assert!(drawn.iter().all(|keys| *keys == drawn[0] && keys.len() == 64), "{drawn:?}");
    let mut different = drawn[0].clone();
    different.sort_unstable();
    different.dedup();
    assert_eq!(different.len(), 64);
}

/// 0 - 1 - 2 - 3 in a row, with 0 - 4 - 3 beside it; 5 - 6 apart.
fn small() -> DistVec<Row> {
    let edge = |(from, to, weight)| Edge { from, to, weight };
    let edges =
        [(0, 1, 1.0), (1, 2, 1.0), (2, 3, 1.0), (0, 4, 2.5), (4, 3, 2.5), (5, 6, 1.0), (6, 6, 0.5)].map(edge);
    construct(&edges::distribute(&edges), 7, DELTA, false, &Progress::new())
}

#[test]
fn rows_that_lack_an_edge_of_the_list_or_have_another_one_are_told() {
    everywhere(|| {
        let edge = |(from, to, weight)| Edge { from, to, weight };
        // With an edge that is there twice, and a loop.
        let right = [(0, 1, 0.5), (1, 2, 0.25), (2, 1, 0.75), (3, 3, 0.5)].map(edge);
        let compared = |other: &[Edge]| {
            let lists = edges::distribute(&right);
            let rows = construct(&lists, 5, 0.5, true, &Progress::new());
            assert_eq!(lists.to_vec().concat().concat(), right, "it stays");
            agreement::check(&List::Kept(edges::distribute(other)), &rows, &Progress::new())
        };
        let wrong = |count, vertex| Err(Wrong { count, vertex });
        assert_eq!(compared(&right), Ok(()));
        // An edge that the rows lack; one less; a shorter one; the lightest of two is longer.
        assert_eq!(compared(&[&right[..], &[edge((4, 0, 0.5))]].concat()), wrong(2, 0));
        assert_eq!(compared(&right[1..]), wrong(2, 0));
        assert_eq!(compared(&[right[0], right[1], edge((2, 1, 0.125))]), wrong(2, 1));
        assert_eq!(compared(&[right[0], right[2]]), wrong(2, 1));
    });
}

#[track_caller]
fn fails_breadth_first(rows: &DistVec<Row>, parents: [u32; 7], expected: &[(Check, u32)]) {
    let found = validate::breadth_first(rows, &DistVec::from_slice(&parents), 0);
    let found: Vec<_> = found.iter().map(|violation| (violation.check, violation.vertex)).collect();
    assert_eq!(found, expected, "{parents:?}");
}

#[test]
fn a_wrong_breadth_first_search_is_told_by_the_check_that_fails() {
    everywhere(|| {
        let rows = small();
        let right = [0, 0, 1, 4, 0, NONE, NONE];
        let with = |vertex: usize, parent: u32| {
            let mut parents = right;
            parents[vertex] = parent;
            parents
        };
        fails_breadth_first(&rows, right, &[]);
        // A neighbour that is further away: 3 is found from 2, on level 3 and not 2.
        fails_breadth_first(&rows, with(3, 2), &[(Check::AllEdges, 3)]);
        // A vertex that is not a neighbour, and one that does not exist.
        fails_breadth_first(&rows, with(3, 1), &[(Check::Joined, 3)]);
        fails_breadth_first(&rows, with(3, 99), &[(Check::Joined, 3)]);
        // Reached, but reported as unreached.
        fails_breadth_first(&rows, with(3, NONE), &[(Check::Component, 3)]);
        // A cycle: 1 and 2 are each other's parents.
        fails_breadth_first(&rows, with(1, 2), &[(Check::Tree, 1)]);
        // A tree of its own elsewhere; and a second root.
        fails_breadth_first(&rows, [0, 0, 1, 4, 0, 6, 5], &[(Check::Tree, 5)]);
        fails_breadth_first(&rows, [0, 0, 1, 4, 0, 5, 5], &[(Check::Tree, 5)]);
        // A root that is not the key's.
        fails_breadth_first(&rows, with(0, 1), &[(Check::Tree, 0)]);
    });
}

#[track_caller]
fn fails_shortest_paths(rows: &DistVec<Row>, change: (u32, f32, u32), expected: &[(Check, u32)]) {
    let right =
        [(0.0, 0), (1.0, 0), (2.0, 1), (3.0, 2), (2.5, 0), (f32::INFINITY, NONE), (f32::INFINITY, NONE)];
    let mut paths = right.map(|(distance, parent)| Path::new(distance, parent));
    let (vertex, distance, parent) = change;
    paths[vertex as usize] = Path::new(distance, parent);
    let found = validate::shortest_paths(rows, &DistVec::from_slice(&paths), 0);
    let found: Vec<_> = found.iter().map(|violation| (violation.check, violation.vertex)).collect();
    assert_eq!(found, expected, "{change:?}");
}

#[test]
fn wrong_shortest_paths_are_told_by_the_check_that_fails() {
    everywhere(|| {
        let rows = small();
        fails_shortest_paths(&rows, (3, 3.0, 2), &[]);
        // Too short; too long; by the longer way, whose length is right.
        fails_shortest_paths(&rows, (3, 2.75, 2), &[(Check::TreeEdges, 3)]);
        fails_shortest_paths(&rows, (3, 3.25, 2), &[(Check::TreeEdges, 3), (Check::AllEdges, 3)]);
        fails_shortest_paths(&rows, (3, 5.0, 4), &[(Check::AllEdges, 3)]);
        fails_shortest_paths(&rows, (3, f32::NAN, 2), &[(Check::TreeEdges, 3), (Check::Component, 3)]);
        // No neighbour; unreached, with a distance and without.
        fails_shortest_paths(&rows, (3, 3.0, 1), &[(Check::Joined, 3)]);
        fails_shortest_paths(&rows, (3, f32::INFINITY, NONE), &[(Check::Component, 3)]);
        fails_shortest_paths(&rows, (3, 3.0, NONE), &[(Check::Component, 3)]);
        // Rightly unreached, with what is no distance.
        for distance in [f32::NAN, -1.0, f32::NEG_INFINITY, 7.0] {
            fails_shortest_paths(&rows, (5, distance, NONE), &[(Check::Component, 5)]);
        }
        // The key is not at its own place.
        fails_shortest_paths(&rows, (0, 1.0, 0), &[(Check::TreeEdges, 0)]);
    });
}

#[test]
fn a_violation_says_the_rule_and_where_it_is_broken() {
    let violation = validate::Violation { check: Check::Joined, vertex: 7, count: 3 };
    assert_eq!(
        violation.to_string(),
        "check 5: each vertex and its parent are joined by an edge of the graph: fails for vertex 7 and 2 more"
    );
}
