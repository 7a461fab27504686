//! How the data that nodes send each other is protected, according to their environment.

use super::{Ended, Nodes, addresses, node, start_with, token, wait};
use crate::PROGRAM;
use gossamer::FabricChoice::Tcp;
use integration_tests::watched;

const LEVELS: [&str; 3] = ["checked", "authenticated", "encrypted"];

#[test]
fn processes_compute_the_same_however_what_they_send_is_protected() {
    watched(|| {
        for level in LEVELS {
            let variables = [("GOSSAMER_PROTECTION", level)];
            for (what, says) in
                [("sum", "1090 digits, 3 processes\n"), ("stream", "3 streams, all are right: true\n")]
            {
                let ended = wait(&mut start_with(what, 3, Tcp, &variables));
                assert!(ended.iter().all(|node| node.status.success()), "{level}: {}", ended[0].errors);
                assert_eq!(ended[0].output, says, "{level}");
            }
        }
    });
}

/// Two nodes, each with variables of its own.
fn two(variables: [&[(&str, &str)]; 2]) -> Vec<Ended> {
    let (addresses, token) = (addresses(2, Tcp), token());
    let start = |index: usize| {
        let mut node = node(PROGRAM, "sum", index, &addresses, &token);
        node.env("GOSSAMER_START_SECONDS", "30").envs(variables[index].iter().copied()).spawn().unwrap()
    };
    wait(&mut Nodes(vec![start(0), start(1)]))
}

#[test]
fn nodes_that_are_protected_otherwise_do_not_start_and_are_told_both() {
    watched(|| {
        for [first, second] in
            [["checked", "encrypted"], ["encrypted", "checked"], ["authenticated", "encrypted"]]
        {
            let ended = two([&[("GOSSAMER_PROTECTION", first)], &[("GOSSAMER_PROTECTION", second)]]);
            let says = format!("was started with GOSSAMER_PROTECTION={second}, node 0 with {first}");
            for node in ended {
                assert_eq!(node.status.code(), Some(2), "{}", node.errors);
                assert!(node.errors.contains(&says), "{}", node.errors);
            }
        }
    });
}

#[test]
fn what_cannot_be_protected_so_does_not_start() {
    watched(|| {
        for (variables, says) in [
            (
                [("GOSSAMER_PROTECTION", "secret"), ("GOSSAMER_FABRIC", "tcp")],
                "GOSSAMER_PROTECTION=\"secret\"",
            ),
            (
                [("GOSSAMER_PROTECTION", "encrypted"), ("GOSSAMER_FABRIC", "verbs")],
                "RDMA (GOSSAMER_FABRIC=verbs)",
            ),
        ] {
            for node in two([&variables, &variables]) {
                assert_eq!(node.status.code(), Some(2), "{}", node.errors);
                assert!(node.errors.contains(says), "{}", node.errors);
            }
        }
    });
}
