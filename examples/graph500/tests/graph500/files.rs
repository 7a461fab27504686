//! Graphs from files.

use crate::{graph500, value};
use std::path::PathBuf;

/// A file that is gone after its test.
struct Temporary(PathBuf);

impl Temporary {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("graph500-test-{}-{name}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

/// Zachary's karate club (1977), which networkx has, too: who met whom outside the club, counted from 0, and in how many ways.
const KARATE_CLUB: &str = include_str!("karate_club.txt");

#[test]
fn a_real_graph_is_searched_from_each_of_its_vertices() {
    let file = Temporary::new("karate_club.txt", KARATE_CLUB);
    for nodes in [1, 2] {
        let ended = graph500(nodes, &["--file", file.path()]);
        assert_eq!((ended.status, ended.errors.as_str()), (Some(0), ""));
        let text = ended.text();
        assert!(text.starts_with("vertices: 34, edges: 78, "), "{text}");
        assert_eq!([value(&ended, "NBFS"), value(&ended, "bfs  min_nedge")], [34.0, 78.0]);
    }
}

#[test]
fn a_bad_file_is_refused_with_its_line() {
    for (name, text, problem) in [
        ("a.gr", "p sp 3 1\na 1 4 10\n", ":2: vertex 4 is out of range: there are 3, counted from 1"),
        ("b.gr", "p sp 3 2\na 1 2 10\n", ":3: the file ends after 1 of 2 arcs: is it truncated?"),
        ("c.txt", "0 1\n1 x\n", ":2: `x` is not a number that a vertex can be"),
    ] {
        let file = Temporary::new(name, text);
        for nodes in [1, 2] {
            let ended = graph500(nodes, &["--file", file.path()]);
            assert_eq!(ended.errors, format!("graph500: {}{problem}\n", file.path()));
            assert_eq!((ended.status, ended.text()), (Some(1), ""));
        }
    }
    let ended = graph500(1, &["--file", "/nowhere/graph.gr"]);
    assert_eq!(ended.status, Some(1));
    assert!(ended.errors.starts_with("graph500: /nowhere/graph.gr: No such file"), "{}", ended.errors);
    let loops = Temporary::new("d.txt", "0 0\n1 1\n");
    let ended = graph500(1, &["--file", loops.path()]);
    assert_eq!((ended.status, ended.errors.contains("nothing to search")), (Some(1), true));
}

#[test]
fn what_no_machine_has_memory_for_is_refused_before_all_of_it_is_read() {
    let zeros = graph500(1, &["--file", "/dev/zero"]);
    assert_eq!((zeros.status, zeros.text()), (Some(1), ""));
    assert!(zeros.errors.starts_with("graph500: /dev/zero:1: the line has more than"), "{}", zeros.errors);
    let file = Temporary::new("large.gr", "p sp 3 100000000000000\na 1 2 3\n");
    for nodes in [1, 2] {
        let ended = graph500(nodes, &["--file", file.path()]);
        assert_eq!((ended.status, ended.text()), (Some(1), ""));
        let words = format!(
            "graph500: {}:1: 3 vertices and 100000000000000 edges take at least 2800000.0 GB",
            file.path()
        );
        assert!(ended.errors.starts_with(&words), "{}", ended.errors);
    }
}

#[test]
fn weights_that_no_path_can_add_up_are_refused_unless_nobody_adds_them() {
    let heavy = Temporary::new("heavy.txt", "0 1 3e38\n1 2 3e38\n");
    let ended = graph500(1, &["--file", heavy.path()]);
    assert_eq!(ended.status, Some(1));
    assert!(
        ended.errors.starts_with("graph500: paths of edges as long as 3e38 may be longer"),
        "{}",
        ended.errors
    );
    assert_eq!(graph500(1, &["--file", heavy.path(), "--kernel", "bfs"]).status, Some(0));
    let light = Temporary::new("light.txt", "0 1 1e38\n1 2 1e38\n");
    assert_eq!(graph500(1, &["--file", light.path()]).status, Some(0));
}
