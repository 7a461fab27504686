//! Runtimes in which nothing goes on.

use crate::inspect::report::{FiberGroup, NodeReport};
use std::time::Duration;

/// The runtimes of which each node has reported, and none has a fiber that goes on, each as its nodes. Nothing has happened
/// for so long.
pub(super) fn at_rest(reports: &[NodeReport], still: Duration) -> Vec<Vec<&NodeReport>> {
    let mut runtimes: Vec<Vec<&NodeReport>> = Vec::new();
    for report in reports {
        let runtime = report.identity.runtime();
        match runtimes.iter_mut().find(|nodes| nodes[0].identity.runtime() == runtime) {
            Some(nodes) => nodes.push(report),
            None => runtimes.push(vec![report]),
        }
    }
    let is_at_rest = |nodes: &Vec<&NodeReport>| {
        nodes.len() == nodes[0].identity.nodes as usize && nodes.iter().all(|node| is_still(node, still))
    };
    runtimes.retain(is_at_rest);
    runtimes
}

/// Whether all workers of a node have answered, and each of its fibers has waited for nearly as long as nothing has
/// happened: how long a fiber waits is known to the nearest look only, and not too long.
fn is_still(node: &NodeReport, still: Duration) -> bool {
    let least = (still / 2).as_millis() as u64;
    let waits = |group: &FiberGroup| group.state == "waits" && group.waited.0 >= least;
    node.workers.iter().all(|worker| worker.answered && worker.jobs == 0) && node.fibers.iter().all(waits)
}
