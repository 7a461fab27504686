//! How nodes end: together, with one report that says why.

use super::{Ended, Nodes, signal, start, wait, wait_until_up};
use gossamer::FabricChoice::{self, Shm, Tcp, Verbs};
use integration_tests::{fabrics, is_tested, watched};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::Duration;

#[test]
fn each_node_says_what_keeps_it_from_ending() {
    watched(|| {
        let mut nodes = start("linger", 2, Shm);
        let says = [
            "node 1, which says more",
            "does not answer: it is in the fiber spawned at tests/src/bin/rack_program.rs:",
        ];
        for (node, text) in nodes.0.iter_mut().zip(says) {
            let lines = BufReader::new(node.stderr.take().unwrap()).lines();
            assert!(lines.map(Result::unwrap).any(|line| line.contains(text)), "{text}");
        }
    });
}

/// Kills one of three nodes, and expects the others to end; returns how many of them say why.
fn reports_when_killed(victim: usize, fabric: FabricChoice) -> usize {
    let mut nodes = start("sleep", 3, fabric);
    wait_until_up(&mut nodes);
    nodes.0[victim].kill().unwrap();
    let ended = wait(&mut nodes);
    let mut reports = 0;
    for (index, node) in ended.iter().enumerate() {
        if index == victim {
            assert_eq!(node.status.signal(), Some(9));
            continue;
        }
        assert_eq!(node.status.code(), Some(75), "node {index}: {}", node.errors);
        reports += usize::from(!node.errors.is_empty());
        if !node.errors.is_empty() {
            assert!(node.errors.contains(&format!("node {victim} (process ")), "{}", node.errors);
            assert!(node.errors.contains("is lost: its process ended"), "{}", node.errors);
        }
    }
    assert!(reports > 0, "somebody says why");
    reports
}

#[test]
fn a_node_that_is_killed_ends_all_nodes_within_a_moment() {
    watched(|| {
        let all = [(0, Shm), (1, Shm), (2, Tcp), (0, Tcp), (2, Verbs), (0, Verbs)];
        for (victim, fabric) in all.into_iter().filter(|(_, fabric)| is_tested(*fabric)) {
            // Of the end of node 0, a node that a busy machine keeps from hearing of a report reports as well.
            let tries = if victim == 0 { 10 } else { 1 };
            assert!((0..tries).any(|_| reports_when_killed(victim, fabric) == 1), "one report");
        }
    });
}

#[test]
fn a_node_that_ends_by_itself_ends_the_others() {
    watched(|| {
        for what in ["die", "exit"] {
            let ended = wait(&mut start(what, 3, Shm));
            assert!(ended[..2].iter().all(|node| node.status.code() == Some(75)));
            assert!(ended[0].errors.contains("node 2 (process "), "{}", ended[0].errors);
            match what {
                "die" => assert_eq!(ended[2].status.signal(), Some(6)),
                _ => assert_eq!(ended[2].status.code(), Some(7)),
            }
        }
    });
}

/// What a node reports whose last worker has done what its argument says.
fn last_words(what: &str) -> Ended {
    let mut ended = wait(&mut start(what, 3, Shm));
    assert!(ended[0].errors.contains("node 2 (process "), "{}", ended[0].errors);
    ended.remove(2)
}

#[test]
fn a_node_that_faults_names_worker_closure_and_line() {
    watched(|| {
        let node = last_words("fault");
        assert_eq!(node.status.signal(), Some(11));
        let words = "): SIGSEGV at address 0x40 on worker 4, in the delegated closure \
                     `rack_program::fault_there::{{closure}}` at tests/src/bin/rack_program.rs:";
        assert!(node.errors.starts_with("gossamer: node 2 (process "), "{}", node.errors);
        assert!(node.errors.contains(words), "{}", node.errors);
        assert!(node.errors.contains("; the instruction is 0x"), "{}", node.errors);
        assert_eq!(node.errors.lines().count(), 1, "{}", node.errors);
    });
}

#[test]
fn a_node_that_aborts_or_overflows_its_stack_names_the_fiber() {
    watched(|| {
        for (what, says) in
            [("die", "SIGABRT on worker 4, in the fiber spawned at "), ("overflow", "overflowed its stack")]
        {
            let node = last_words(what);
            assert_eq!(node.status.signal(), Some(6));
            assert!(node.errors.contains(says), "{}", node.errors);
            assert!(node.errors.contains("spawned at tests/src/bin/rack_program.rs:"), "{}", node.errors);
            assert_eq!(node.errors.lines().count(), 1, "{}", node.errors);
        }
    });
}

#[test]
fn a_node_that_somebody_sends_a_fault_ends_and_says_who_sent_it() {
    watched(|| {
        let mut nodes = start("sleep", 2, Shm);
        wait_until_up(&mut nodes);
        signal(&nodes.0[1], libc::SIGSEGV);
        let ended = wait(&mut nodes);
        assert_eq!(ended[1].status.signal(), Some(11));
        let sender = format!("SIGSEGV sent by process {}", std::process::id());
        assert!(ended[1].errors.contains(&sender), "{}", ended[1].errors);
    });
}

#[test]
fn the_lowest_node_that_lives_reports_when_others_end_together_with_node_0() {
    watched(|| {
        let all = [([0, 1], Shm), ([0, 2], Shm), ([1, 0], Tcp), ([1, 0], Verbs)];
        for (victims, fabric) in all.into_iter().filter(|(_, fabric)| is_tested(*fabric)) {
            let mut nodes = start("sleep", 4, fabric);
            wait_until_up(&mut nodes);
            victims.into_iter().for_each(|victim| nodes.0[victim].kill().unwrap());
            let ended = wait(&mut nodes);
            let reports: Vec<_> = ended.iter().filter(|node| !node.errors.is_empty()).collect();
            assert!(!reports.is_empty(), "somebody says why");
            for node in reports {
                assert!(node.errors.contains("is lost: its process ended"), "{}", node.errors);
            }
        }
    });
}

/// Kills node 0 of four while node 1 does nothing, and node 1 after this time. How many of the others say why they end.
fn reports_beside_a_stopped_node(fabric: FabricChoice, killed_after: Option<Duration>) -> usize {
    let mut nodes = start("sleep", 4, fabric);
    wait_until_up(&mut nodes);
    signal(&nodes.0[1], libc::SIGSTOP);
    nodes.0[0].kill().unwrap();
    if let Some(later) = killed_after {
        thread::sleep(later);
        nodes.0[1].kill().unwrap();
    }
    let ended = wait(&mut Nodes(nodes.0.split_off(2)));
    let reports: Vec<_> = ended.iter().filter(|node| !node.errors.is_empty()).collect();
    assert!(!reports.is_empty(), "somebody says why");
    for node in &reports {
        assert!(node.errors.contains("node 0"), "{}", node.errors);
    }
    reports.len()
}

#[test]
fn one_node_reports_although_a_lower_one_ends_some_time_after_node_0() {
    watched(|| {
        for fabric in [Shm, Tcp] {
            let later = Some(Duration::from_millis(500));
            assert!((0..10).any(|_| reports_beside_a_stopped_node(fabric, later) == 1), "one report");
        }
    });
}

#[test]
fn a_node_that_does_nothing_does_not_keep_the_report_back() {
    watched(|| {
        for fabric in [Shm, Tcp] {
            reports_beside_a_stopped_node(fabric, None);
        }
    });
}

#[test]
fn a_node_that_ends_while_others_wait_for_all_work_ends_them() {
    for fabric in fabrics() {
        watched(move || {
            let ended = wait(&mut start("wait for all", 3, fabric));
            assert_eq!(ended[2].status.code(), Some(7), "{}", ended[2].errors);
            for node in &ended[..2] {
                assert_eq!(node.status.code(), Some(75), "{}", node.errors);
            }
        });
    }
}
