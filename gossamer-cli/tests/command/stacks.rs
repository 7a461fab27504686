//! `gossamer stacks`, for programs that run, wait for each other, or are stopped.

use crate::common::programs::Programs;
use crate::common::signal;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

#[test]
fn fibers_of_all_nodes_are_shown_together_and_those_that_wait_for_each_other_are_named() {
    let programs = Programs::new("deadlock");
    for fabric in ["shm", "tcp"] {
        let Some(_running) = programs.run("4", fabric, "deadlock") else { return };
        let texts = [
            "node 0 of 4, ",
            "node 3 of 4, ",
            "deadlock that has lasted at least",
            "4 fibers wait for each other",
        ];
        let said = programs.until_it_says(&texts);
        assert_eq!(said.matches("holds a latch").count(), 2, "{said}");
        assert!(said.contains("crosswise.rs:"), "{said}");
        let json = programs.stacks(&["--json"]);
        let json: serde_json::Value = serde_json::from_str(&json.ended_with(0).out).unwrap();
        assert_eq!(json[0]["deadlocks"][0]["fibers"].as_array().unwrap().len(), 4, "{json}");
    }
}

/// Ways to hang, and what is reported for each, apart from what the fiber of `main` does.
const HANGS: [(&str, &[&str]); 6] = [
    ("latch in itself", &["deadlock that has lasted at least", "2 fibers wait for each other", "hangs.rs:"]),
    ("accept", &["waits in `rack::wait_all`", "waits in `TcpListener::accept`"]),
    ("mutex", &["worker 3 does not answer", "it runs the fiber spawned at", "hangs.rs:"]),
    ("thread::sleep", &["worker 3 does not answer", "it runs the fiber spawned at", "hangs.rs:"]),
    ("endless loop", &["worker 3 does not answer", "it runs the fiber spawned at", "hangs.rs:"]),
    ("closure", &["worker 3 does not answer", "waits in `apply`", "hangs.rs:"]),
];

#[test]
fn each_way_in_which_a_program_hangs_is_told_from_the_others() {
    for fabric in ["shm", "tcp"] {
        for (way, texts) in HANGS {
            let programs = Programs::new("hangs");
            let Some(_running) = programs.run_with("4", "1", fabric, &["hang", way]) else { return };
            let said = programs.until_it_says(texts);
            // A fiber that waits for a connection, or for a worker that runs, is not in a deadlock.
            assert_eq!(said.contains("deadlock"), way == "latch in itself", "{way}: {said}");
        }
    }
}

#[test]
fn backtraces_are_shown_below_the_fibers_that_wait() {
    let programs = Programs::new("backtraces");
    let Some(_running) = programs.run("2", "shm", "sleep") else { return };
    programs.until_it_says(&["node 0 of 2, ", "node 1 of 2, ", "in `sleep`"]);
    let said = programs.stacks(&["--backtraces"]).ended_with(0).out.clone();
    let (_, below) = said.split_once("in `sleep`").unwrap();
    let shows = |what| below.lines().any(|line| line.starts_with("    ") && line.contains(what));
    assert!(shows("rack_program::main"), "{said}");
    // Files and lines are debug information, which programs may be built without.
    assert!(option_env!("CARGO_PROFILE_DEV_DEBUG") == Some("0") || shows("rack_program.rs:"), "{said}");
}

#[test]
fn a_node_that_is_stopped_is_named_and_the_others_are_shown() {
    let programs = Programs::new("stopped");
    let Some(_running) = programs.run("2", "shm", "sleep") else { return };
    programs.until_it_says(&["node 0 of 2, ", "node 1 of 2, ", "in `sleep`"]);
    let stopped = programs.processes()[0];
    signal(stopped, "STOP");
    let said = programs.ask("stacks", &[]);
    signal(stopped, "CONT");
    assert_eq!(said.status, Some(3), "{said:?}");
    assert!(said.err.contains(&format!("process {stopped} does not answer: it is stopped")), "{said:?}");
    assert!(said.out.contains(" of 2, process "), "{said:?}");
}

#[test]
fn at_a_stopped_node_at_which_many_wait_already_nobody_waits_any_more() {
    let programs = Programs::new("crowded");
    let Some(_running) = programs.run("1", "shm", "sleep") else { return };
    programs.until_it_says(&["in `sleep`"]);
    let stopped = programs.processes()[0];
    signal(stopped, "STOP");
    let path = programs.directory().join(format!("gossamer/{stopped}.sock"));
    let address = SocketAddrUnix::new(path).unwrap();
    let mut waiting = Vec::new();
    loop {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        if connect(&socket, &address).is_err() {
            break;
        }
        waiting.push(socket);
    }
    let said = programs.ask("stacks", &[&stopped.to_string()]);
    signal(stopped, "CONT");
    assert_eq!(said.status, Some(3), "{said:?}");
    assert!(said.err.contains("it is stopped"), "{said:?}");
}

#[test]
fn where_there_is_no_program_it_says_so() {
    let programs = Programs::new("none");
    let said = programs.ask("stacks", &["1"]);
    assert_eq!(said.status, Some(1), "{said:?}");
    assert!(said.err.contains("process 1 is no program of this user"), "{said:?}");
}
