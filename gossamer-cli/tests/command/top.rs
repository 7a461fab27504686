//! `gossamer top`, for nodes that ask each other all the time.

use crate::common::programs::Programs;
use serde_json::Value;

/// The runtime of two nodes among those that are reported, if there is one: root sees runtimes of other tests, too.
fn ours(told: &str) -> Option<Value> {
    let all: Value = serde_json::from_str(told).ok()?;
    let ours = all
        .as_array()?
        .iter()
        .find(|runtime| runtime["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2));
    ours.cloned()
}

#[test]
fn workers_their_traffic_and_what_they_run_are_shown_over_all_nodes() {
    let programs = Programs::new("top");
    let Some(_running) = programs.run("2", "shm", "repeat") else { return };
    programs.until_it_says(&["node 0 of 2, ", "node 1 of 2, "]);
    let found = loop {
        let told = programs.ask("top", &["--once", "--json", "--interval", "200ms"]).out;
        let is_told = |runtime: &Value| {
            let serve = |worker: &Value| worker["served_per_second"].as_f64().unwrap() > 0.0;
            let running = runtime["running"].to_string();
            runtime["workers"].as_array().unwrap().iter().all(serve) && running.contains("rack_program.rs:")
        };
        if let Some(found) = ours(&told).filter(is_told) {
            break found;
        }
    };
    let over: Vec<&Value> = found["peers"].as_array().unwrap().iter().map(|peer| &peer["over"]).collect();
    assert_eq!(over, ["shm", "shm"], "{found}");
    let shares: f64 =
        found["running"].as_array().unwrap().iter().map(|one| one["share"].as_f64().unwrap()).sum();
    assert!(0.0 < shares && shares <= 1.0, "{found}");
    let text =
        programs.ask("top", &["--once", "--interval", "100ms", "--sort", "busy"]).ended_with(0).out.clone();
    for part in ["NODE  WORKER  BUSY", "RECEIVED/S", "2 of 2 nodes here"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn where_there_is_no_program_it_says_so_and_a_bad_time_is_refused() {
    let programs = Programs::new("top-none");
    let told = programs.ask("top", &["1", "--once"]);
    assert_eq!(told.status, Some(1), "{told:?}");
    assert!(told.err.contains("no such program"), "{told:?}");
    assert_eq!(programs.ask("top", &["--interval", "0"]).status, Some(2));
}
