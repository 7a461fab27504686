//! Runs graph500 as its users do, on one process and on two nodes.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, reason = "modules that the tests of the other examples use more of")]

#[path = "../../../tests/programs/child.rs"]
mod child;
mod files;
#[path = "../../../tests/programs/nodes.rs"]
mod nodes;

use child::Ended;
use nodes::Nodes;

/// Runs it to its end.
fn graph500(nodes: usize, arguments: &[&str]) -> Ended {
    Nodes::start(env!("CARGO_BIN_EXE_graph500"), nodes, arguments).wait()
}

/// The value of a line of the output block.
#[track_caller]
fn value(ended: &Ended, name: &str) -> f64 {
    let line = ended.text().lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    let line = line.unwrap_or_else(|| panic!("no {name} in {}", ended.text()));
    line.trim_start_matches([' ', '!']).parse().unwrap()
}

#[test]
fn the_benchmark_prints_the_block_of_the_specification() {
    for nodes in [1, 2] {
        let ended = graph500(nodes, &["--scale", "8", "--roots", "4", "--seed", "3"]);
        assert_eq!((ended.status, ended.errors.as_str()), (Some(0), ""));
        assert_eq!(
            ["SCALE", "edgefactor", "NBFS", "num_mpi_processes"].map(|name| value(&ended, name)),
            [8.0, 16.0, 4.0, nodes as f64]
        );
        for kernel in ["bfs ", "sssp"] {
            for name in ["min_time", "stddev_time", "median_nedge", "harmonic_stddev_TEPS", "max_validate"] {
                assert!(value(&ended, &format!("{kernel} {name}")) >= 0.0);
            }
            // Most of the edges are in one component.
            let edges = value(&ended, &format!("{kernel} max_nedge"));
            assert!((3000.0..=4096.0).contains(&edges), "{edges}");
            assert!(value(&ended, &format!("{kernel} harmonic_mean_TEPS")) > 0.0);
        }
        assert_eq!(ended.text().lines().filter(|line| line.contains(" rounds, ")).count(), 8);
        // What each phase cost: generation, construction, comparison, and the searches.
        let costs =
            ended.text().lines().filter(|line| line.contains(" messages, ") && line.contains(" % busy"));
        assert_eq!(costs.count(), 3 + 8);
    }
}

#[test]
fn options_choose_the_kernel_and_whether_it_is_validated() {
    let ended = graph500(
        1,
        &["--scale", "6", "--roots", "2", "--kernel", "sssp", "--delta", "0.5", "--skip-validation"],
    );
    assert_eq!((ended.status, ended.errors.as_str()), (Some(0), ""));
    assert!(ended.text().contains("sssp max_TEPS"));
    assert!(!ended.text().contains("bfs") && !ended.text().contains("validate"), "{}", ended.text());
    for wrong in [["--scale", "0"], ["--kernel", "all"], ["--delta", "0"], ["--roots", "0"]] {
        assert_eq!(graph500(1, &wrong).status, Some(2), "{wrong:?}");
    }
}

#[test]
fn a_graph_that_no_machine_has_memory_for_is_refused_before_it_is_made() {
    for nodes in [1, 2] {
        let ended = graph500(nodes, &["--scale", "31", "--edgefactor", "1024"]);
        assert_eq!((ended.status, ended.text()), (Some(1), ""));
        let words = "graph500: 2147483648 vertices and 2199023255552 edges take at least 61658.6 GB where node 0 is, which has ";
        assert!(ended.errors.starts_with(words), "{}", ended.errors);
    }
}

#[test]
fn buckets_may_be_as_narrow_as_they_can_be_written() {
    for delta in ["1e-30", "1e-45", "1e30"] {
        let ended = graph500(1, &["--scale", "6", "--roots", "2", "--kernel", "sssp", "--delta", delta]);
        assert_eq!((ended.status, ended.errors.as_str()), (Some(0), ""), "with {delta}");
    }
}
