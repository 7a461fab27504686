//! `gossamer run --timeout`: all nodes end when their time is up, and what they did is reported.

use crate::common::rack::Rack;
use crate::common::{finish, gossamer, is_alive, read_numbers, signal, skipped, start};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;

/// `gossamer run --local NODES OPTIONS -- sh -c SCRIPT`
fn local(nodes: u32, options: &[&str], script: &str) -> Command {
    let mut command = gossamer(&["run", "--local", &nodes.to_string()]);
    command.args(options).args(["--", "/bin/sh", "-c", script]);
    command
}

#[test]
fn nodes_end_when_their_time_is_up() {
    let finished = finish(&mut local(3, &["--timeout", "3s"], "echo $$; exec sleep 1000"));
    finished.ended_with(124).said("gossamer: the time is up: the nodes were ended after 3s (--timeout)\n");
    let nodes: Vec<u32> = finished.lines().iter().map(|line| line[9..].parse().unwrap()).collect();
    assert!(nodes.len() == 3 && !nodes.into_iter().any(is_alive), "{finished:?}");
}

#[test]
fn who_ends_in_time_is_left_alone() {
    finish(&mut local(2, &["--timeout", "1h"], "exit 0")).ended_with(0).was_quiet();
    finish(&mut local(2, &["--timeout", "1h"], "[ $GOSSAMER_NODE = 0 ] || exit 9; sleep 100")).ended_with(9);
}

#[test]
fn nodes_may_end_by_themselves_and_are_killed_if_they_do_not() {
    let script = "trap 'echo saved; exit 0' TERM; [ $GOSSAMER_NODE = 0 ] || trap '' TERM; while :; do sleep 0.05; done";
    let finished = finish(&mut local(2, &["--timeout", "3s"], script));
    assert_eq!(finished.ended_with(124).out, "[node 0] saved\n");
}

#[test]
fn output_that_nobody_reads_does_not_stop_the_end() {
    let mut started = start(&mut local(1, &["--timeout", "3"], "yes"));
    let status = started.child().wait().unwrap();
    assert_eq!(status.code(), Some(124));
}

#[test]
fn a_report_says_what_processes_and_threads_do() {
    let script = "[ $GOSSAMER_NODE = 0 ] && exec sleep 1000; (exec sleep 1001) & while :; do :; done";
    let finished = finish(&mut local(2, &["--timeout", "3", "--report-on-timeout"], script));
    finished.ended_with(124).said("gossamer: node 0 (pid ").said("gossamer: node 1 (pid ");
    finished.said(", when its time was up:\n").said("(sleep), 1 threads").said("the time is up");
    let of = |name: &str| {
        let thread = format!("gossamer:     {name}: ");
        finished.err.lines().filter(|line| line.starts_with(&thread)).collect::<Vec<_>>()
    };
    let (busy, asleep) = (of("sh"), of("sleep"));
    assert!(busy.len() == 1 && busy[0].contains("running") && !busy[0].contains(" 0 %"), "{finished:?}");
    assert!(asleep.len() == 2 && asleep.iter().all(|line| line.contains("sleeping")), "{finished:?}");
}

#[test]
fn a_report_names_workers_and_what_is_stopped() {
    let program = Path::new(env!("CARGO_BIN_EXE_gossamer")).with_file_name("rack_program");
    if !program.exists() {
        return skipped("rack_program is not built: `cargo build --workspace` does");
    }
    let mut command =
        gossamer(&["run", "--local", "2", "--threads", "2", "--timeout", "5", "--report-on-timeout", "--"]);
    let mut workers = start(command.arg(program).arg("sleep"));
    let mut stopped = start(&mut local(1, &["--timeout", "5", "--report-on-timeout"], "echo $$; sleep 1000"));
    signal(read_numbers(stopped.child(), 1)[0], "STOP");
    let mut line = String::new();
    BufReader::new(workers.child().stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "[node 0] 2 nodes are up\n");
    let finished = workers.finish();
    finished.ended_with(124).said("gossamer:     gossamer-0: ").said("gossamer:     gossamer-1: ");
    stopped.finish().ended_with(124).said("gossamer:     sh: stopped");
}

#[test]
fn daemons_tell_what_their_nodes_do() {
    let rack = Rack::new("timeout", 2);
    let options = ["-n", "2", "--timeout", "3", "--report-on-timeout", "--", "/bin/sleep", "1000"];
    let finished = finish(&mut rack.command(0, "run", &options));
    finished.ended_with(124).said("gossamer: node 0 on a (pid ").said("gossamer: node 1 on b (pid ");
    assert_eq!(finished.err.matches("gossamer:     sleep: sleeping").count(), 2, "{finished:?}");
}

#[test]
fn a_daemon_that_is_stopped_does_not_keep_an_application_over_its_time() {
    let rack = Rack::new("timeout-stopped", 2);
    let options = ["-n", "2", "--timeout", "3", "--report-on-timeout", "--", "/bin/sleep", "1000"];
    let started = start(&mut rack.command(0, "run", &options));
    rack.daemons[1].says("starts nodes");
    rack.daemons[1].process.signal("STOP");
    let finished = started.finish();
    rack.daemons[1].process.signal("CONT");
    finished.ended_with(124).said("gossamer: node 0 on a (pid ").said("the time is up");
}

#[test]
fn what_is_no_time_is_a_mistake() {
    for wrong in ["", "0", "soon", "-1", "5 parsecs"] {
        let duration = format!("--timeout={wrong}");
        finish(&mut gossamer(&["run", "--local", "1", &duration, "--", "true"]))
            .ended_with(2)
            .said("--timeout");
    }
    let alone = ["run", "--local", "1", "--report-on-timeout", "--", "true"];
    finish(&mut gossamer(&alone)).ended_with(2).said("--timeout <DURATION>");
}
