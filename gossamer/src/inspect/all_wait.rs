//! Programs of which each fiber waits for the program itself: for messages, locks and other fibers. Which fiber would end
//! which wait is unknown, but if nothing else is left that could, none ends.

use crate::inspect::render::rendered;
use crate::inspect::report::{FiberGroup, NodeReport};
use crate::inspect::rest::at_rest;
use std::fmt::Write;
use std::time::Duration;

/// Says what all fibers wait for, for each runtime in which none can go on; and names that state, in words that stay the
/// same for as long as it lasts. Nothing has happened for so long.
pub(super) fn all_wait(reports: &[NodeReport], still: Duration) -> Vec<(String, String)> {
    let all_at_rest = at_rest(reports, still);
    let is_at_rest =
        |other: &NodeReport| all_at_rest.iter().flatten().any(|node| node.identity == other.identity);
    // Channels and locks may be shared by all runtimes of a process.
    let is_stuck = |nodes: &&Vec<&NodeReport>| {
        let is_beside =
            |other: &&NodeReport| nodes.iter().any(|node| node.identity.process == other.identity.process);
        nodes.iter().any(|node| !node.fibers.is_empty())
            && reports.iter().filter(is_beside).all(|other| is_at_rest(other) && waits_for_itself(other))
    };
    all_at_rest.iter().filter(is_stuck).map(|nodes| (state(nodes), describe(nodes))).collect()
}

/// Whether no other thread, and nothing outside of the program, may end the wait of a fiber.
fn waits_for_itself(node: &NodeReport) -> bool {
    let is_internal = |group: &FiberGroup| group.wait.as_ref().is_some_and(|wait| wait.is_internal);
    node.other_threads == Some(0) && node.fibers.iter().all(is_internal)
}

/// What a report shows, but for times.
fn state(nodes: &[&NodeReport]) -> String {
    let mut state = String::new();
    for group in nodes.iter().flat_map(|node| &node.fibers) {
        let _infallible = write!(state, "{} {} {:?};", group.count, group.spawned_at, group.wait);
    }
    state
}

fn describe(nodes: &[&NodeReport]) -> String {
    format!(
        "since every fiber waits for a message, a lock or another fiber, and nothing is left that could end that:\n{}\n  \
         Look for locks that are taken in different orders, or held while their fiber waits, and for a sender that is \
         kept while its receiver waits for the end.",
        rendered(nodes)
    )
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::inspect::{NodeIdentity, WaitReport, WorkerReport};

    const STILL: Duration = Duration::from_secs(30);

    fn fiber(call: &str, is_internal: bool) -> FiberGroup {
        let wait = WaitReport {
            call: call.to_owned(),
            at: None,
            what: None,
            closure: None,
            property: None,
            worker: None,
            is_internal,
        };
        FiberGroup {
            count: 1,
            workers: vec![0],
            spawned_at: "main.rs:1:1".to_owned(),
            state: "waits".to_owned(),
            wait: Some(wait),
            waited: (29_000, 29_000),
            backtrace: Vec::new(),
        }
    }

    /// A node of two, if the rack has a name, or one alone.
    fn node(node: u32, rack: &str, fibers: Vec<FiberGroup>) -> NodeReport {
        let identity = NodeIdentity {
            node,
            nodes: if rack.is_empty() { 1 } else { 2 },
            rack: rack.to_owned(),
            process: 7,
            base: node,
            program: String::new(),
        };
        let worker = WorkerReport {
            worker: node,
            answered: true,
            is_asleep: true,
            runs: String::new(),
            still_for: 0,
            fibers: fibers.len() as u64,
            jobs: 0,
            unanswered: 0,
        };
        NodeReport { identity, workers: vec![worker], other_threads: Some(0), fibers, links: Vec::new() }
    }

    fn found(reports: &[NodeReport]) -> usize {
        all_wait(reports, STILL).len()
    }

    #[test]
    fn a_program_is_told_unless_a_socket_a_thread_or_a_fiber_that_goes_on_may_help_it() {
        let stuck = || node(0, "", vec![fiber("lock", true), fiber("recv", true)]);
        assert_eq!(found(&[stuck()]), 1);
        assert_eq!(found(&[node(0, "", Vec::new())]), 0, "it has no fibers");
        assert_eq!(found(&[node(0, "", vec![fiber("lock", true), fiber("accept", false)])]), 0);
        for other_threads in [Some(1), None] {
            assert_eq!(found(&[NodeReport { other_threads, ..stuck() }]), 0, "{other_threads:?}");
        }
        let (mut runs, mut is_late, mut begins) = (stuck(), stuck(), stuck());
        runs.fibers[1].state = "runs".to_owned();
        is_late.fibers[1].waited.0 = 1000;
        begins.workers[0].jobs = 1;
        assert_eq!([runs, is_late, begins].map(|report| found(&[report])), [0; 3]);
    }

    #[test]
    fn a_rack_is_told_once_all_its_nodes_have_come_to_rest() {
        let stuck = |number| node(number, "rack", vec![fiber("lock", true)]);
        assert_eq!(found(&[stuck(0)]), 0, "the other has not answered");
        assert_eq!(found(&[stuck(0), stuck(1)]), 1);
        assert_eq!(found(&[stuck(0), node(1, "rack", vec![fiber("sleep", false)])]), 0);
    }

    #[test]
    fn another_runtime_of_the_process_may_help() {
        let stuck = |base| node(base, "", vec![fiber("lock", true)]);
        let serves = node(1, "", vec![fiber("accept", false)]);
        assert_eq!(found(&[stuck(0), stuck(1)]), 2);
        assert_eq!(found(&[stuck(0), serves.clone()]), 0);
        let mut elsewhere = serves;
        elsewhere.identity.process = 8;
        assert_eq!(found(&[stuck(0), elsewhere]), 1);
    }
}
