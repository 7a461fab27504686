//! The trace of nodes that are processes, each with a clock of its own.

use super::{Nodes, start_with, wait, wait_until_up};
use gossamer::FabricChoice::{self, Shm, Tcp};
use integration_tests::{fabrics, watched};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A file of this test alone, which is removed with it.
struct TraceFile(PathBuf);

impl TraceFile {
    fn new(name: &str) -> Self {
        let file = format!("gossamer-test-{}-{name}.json", std::process::id());
        Self(std::env::temp_dir().join(file))
    }

    fn read(&self) -> Value {
        read(&self.0)
    }
}

impl Drop for TraceFile {
    fn drop(&mut self) {
        let _gone = fs::remove_file(&self.0);
    }
}

fn read(path: &Path) -> Value {
    let text = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&text).unwrap()
}

fn traced(what: &str, nodes: usize, fabric: FabricChoice, file: &TraceFile) -> Nodes {
    let path = file.0.to_str().unwrap();
    start_with(what, nodes, fabric, &[("GOSSAMER_TRACE", path), ("GOSSAMER_TRACE_EVERY", "1")])
}

/// Events of this phase, in the sense of the format.
fn events<'a>(trace: &'a Value, phase: &'static str) -> impl Iterator<Item = &'a Value> {
    trace["traceEvents"].as_array().unwrap().iter().filter(move |event| event["ph"] == phase)
}

/// The parts of those arrows that are complete: the process, and the time.
fn arrows(trace: &Value) -> Vec<[(u64, f64); 3]> {
    let mut arrows = BTreeMap::<u64, BTreeMap<&str, (u64, f64)>>::new();
    for phase in ["s", "t", "f"] {
        for end in events(trace, phase) {
            let place = (end["pid"].as_u64().unwrap(), end["ts"].as_f64().unwrap());
            arrows.entry(end["id"].as_u64().unwrap()).or_default().insert(phase, place);
        }
    }
    let whole = |ends: &BTreeMap<&str, (u64, f64)>| Some([*ends.get("s")?, *ends.get("t")?, *ends.get("f")?]);
    arrows.values().filter_map(whole).collect()
}

#[test]
fn requests_between_nodes_are_arrows_on_one_clock() {
    watched(|| {
        for fabric in fabrics().into_iter().filter(|fabric| [Shm, Tcp].contains(fabric)) {
            let file = TraceFile::new(&fabric.to_string());
            let ended = wait(&mut traced("sum", 2, fabric, &file));
            assert!(ended.iter().all(|node| node.status.success()), "{}", ended[0].errors);
            assert!(ended[0].errors.contains("events of 2 nodes"), "{}", ended[0].errors);
            let trace = file.read();
            let nodes = trace["otherData"]["gossamer"]["nodes"].as_array().unwrap();
            let error = |node: usize| nodes[node]["clock_error_nanoseconds"].as_f64().unwrap() / 1000.0;
            let error = error(0) + error(1);
            let arrows = arrows(&trace);
            let between: Vec<_> = arrows.iter().filter(|[sent, served, _]| sent.0 != served.0).collect();
            assert!(between.len() > 10, "{} arrows", between.len());
            for [sent, served, answered] in between {
                assert!(served.1 >= sent.1 - error, "served at {}, sent at {}", served.1, sent.1);
                assert!(answered.1 >= served.1 - error, "answered at {}", answered.1);
                assert!(answered.0 == sent.0 && answered.1 > sent.1);
            }
            let slices: BTreeSet<(u64, &str)> = events(&trace, "X")
                .map(|slice| (slice["pid"].as_u64().unwrap(), slice["cat"].as_str().unwrap()))
                .collect();
            let kinds = ["fiber", "request", "worker"];
            assert!([1, 2].iter().all(|node| kinds.iter().all(|kind| slices.contains(&(*node, *kind)))));
            let names: String = events(&trace, "X").map(|slice| slice["name"].to_string()).collect();
            assert!(names.contains("rack_program.rs:"), "closures and fibers have places: {names}");
            assert_eq!(names.contains("\"flush\""), fabric == Tcp);
            // Both are told to end.
            for phase in ["phase: fibers are cancelled", "phase: properties are dropped"] {
                let told = events(&trace, "i").filter(|event| event["name"].to_string().contains(phase));
                assert_eq!(told.count(), 2, "{phase}");
            }
        }
    });
}

#[test]
fn when_a_node_is_killed_what_the_others_have_is_written() {
    watched(|| {
        let run = |victim: usize| {
            let file = TraceFile::new(&format!("killed-{victim}"));
            let mut nodes = traced("sleep", 3, Shm, &file);
            wait_until_up(&mut nodes);
            nodes.0[victim].kill().unwrap();
            (file, wait(&mut nodes))
        };
        let had = |trace: &Value| -> Vec<u64> {
            let nodes = trace["otherData"]["gossamer"]["nodes"].as_array().unwrap();
            nodes.iter().map(|node| node["node"].as_u64().unwrap()).collect()
        };
        // Node 0 waits a moment only for the trace of node 1, which may be late on a busy machine.
        let has_both = |_| {
            let (file, ended) = run(2);
            let had = had(&file.read());
            assert!(had == [0, 1] || had == [0], "{had:?}: {}", ended[0].errors);
            had.len() == 2
        };
        assert!((0..20).any(has_both), "the trace of node 1 is always late");
        // Nobody leads the nodes that are left: each writes its own trace.
        let (file, ended) = run(0);
        for node in [1, 2] {
            let own = TraceFile(format!("{}.node-{node}", file.0.display()).into());
            let trace = own.read();
            assert_eq!(had(&trace), [node], "{}", ended[node as usize].errors);
            let workers = events(&trace, "M").filter(|event| event["name"] == "thread_name").count();
            assert!(workers >= 2, "{workers} tracks");
        }
    });
}

#[test]
fn a_trace_that_cannot_be_written_is_known_at_the_start() {
    watched(|| {
        let file = TraceFile(PathBuf::from("/no such folder/trace.json"));
        let ended = wait(&mut traced("sum", 2, Shm, &file));
        assert_eq!(ended[0].output, "", "it has not begun");
        assert_eq!(ended[0].status.code(), Some(2), "{}", ended[0].errors);
        for part in ["/no such folder/trace.json", "GOSSAMER_TRACE", "No such file"] {
            assert!(ended[0].errors.contains(part), "{part}: {}", ended[0].errors);
        }
        assert!(!ended[1].status.success());
    });
}
