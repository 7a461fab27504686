//! Nodes that end although nobody reads what they say, or that cannot say it; and those that give up and go on.

use super::{Nodes, start_each, wait, wait_until_up};
use gossamer::FabricChoice::{self, Shm, Tcp};
use integration_tests::watched;
use std::fs::File;
use std::io::{PipeReader, Write, pipe};
use std::net::TcpListener;
use std::process::Stdio;

/// Where a node writes its errors.
#[derive(Clone, Copy)]
enum Errors {
    /// To a pipe that is full, and that nobody reads.
    Blocked,
    /// To a disk without room.
    Refused,
}

/// A pipe without room: its end for the child, and the one that nobody reads.
fn full_pipe() -> (Stdio, PipeReader) {
    let (unread, mut full) = pipe().unwrap();
    let is_waiting = rustix::fs::fcntl_getfl(&full).unwrap();
    rustix::fs::fcntl_setfl(&full, is_waiting | rustix::fs::OFlags::NONBLOCK).unwrap();
    while full.write(&[b'.'; 4096]).is_ok() {}
    while full.write(b".").is_ok() {}
    rustix::fs::fcntl_setfl(&full, is_waiting).unwrap();
    (full.into(), unread)
}

/// Kills a node of three, of which one cannot say anything, and waits until all have ended: what they said.
fn reports(fabric: FabricChoice, victim: usize, mute: usize, errors: Errors) -> Vec<String> {
    let mut unread = None;
    let mut nodes = start_each("sleep", 3, fabric, |index, command| {
        let refused = || File::options().write(true).open("/dev/full").unwrap().into();
        match errors {
            _ if index != mute => {}
            Errors::Refused => drop(command.stderr::<Stdio>(refused())),
            Errors::Blocked => {
                let (full, end) = full_pipe();
                command.stderr(full);
                unread = Some(end);
            }
        }
    });
    wait_until_up(&mut nodes);
    nodes.0[victim].kill().unwrap();
    let ended = wait(&mut nodes);
    drop(unread);
    let survivors = ended.iter().enumerate().filter(|(node, _)| *node != victim);
    for (_, node) in survivors {
        assert_eq!(node.status.code(), Some(75), "{}", node.errors);
    }
    ended.into_iter().map(|node| node.errors).filter(|errors| !errors.is_empty()).collect()
}

#[test]
fn a_node_that_cannot_say_why_it_ends_does_end_and_leaves_the_report_to_others() {
    watched(|| {
        for errors in [Errors::Blocked, Errors::Refused] {
            for fabric in [Shm, Tcp] {
                for (victim, mute) in [(0, 1), (2, 0)] {
                    let reports = reports(fabric, victim, mute, errors);
                    assert!(reports.iter().any(|report| report.contains("node 0 ")), "{reports:?}");
                }
            }
        }
    });
}

#[test]
fn a_node_that_gives_up_ends_the_others_though_its_program_goes_on() {
    watched(|| {
        for (fabric, which) in [(Shm, 1), (Shm, 0), (Tcp, 1), (Tcp, 0)] {
            // Where it would serve metrics.
            let taken = TcpListener::bind("127.0.0.1:0").unwrap();
            let first = taken.local_addr().unwrap().port() - which;
            let mut nodes = start_each("go on for long", 3, fabric, |index, command| {
                if index == usize::from(which) {
                    command.env("GOSSAMER_METRICS", format!("127.0.0.1:{first}"));
                }
            });
            let gone_on = Nodes(vec![nodes.0.remove(which.into())]);
            let ended = wait(&mut nodes);
            for node in &ended {
                assert_eq!(node.status.code(), Some(75), "{}", node.errors);
            }
            drop(gone_on);
        }
    });
}
