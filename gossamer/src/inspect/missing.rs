//! Fibers that wait in a collective of nodes for a node that has no fiber, so that none calls it there.

use crate::inspect::report::{FiberGroup, NodeReport, WaitReport};
use std::time::Duration;

/// What they wait in.
const COLLECTIVES: [&str; 4] = ["rack::barrier", "rack::gather", "rack::all_reduce", "rack::broadcast"];

/// Says for each place where a collective is called what it waits for, if each node of its rack has reported, and none
/// has a fiber that goes on. Nothing has happened for so long.
pub(super) fn missing_nodes(reports: &[NodeReport], still: Duration) -> Vec<String> {
    let mut found = Vec::new();
    for report in reports {
        let rack: Vec<&NodeReport> =
            reports.iter().filter(|other| other.identity.runtime() == report.identity.runtime()).collect();
        if rack.len() != report.identity.nodes as usize || !rack.iter().all(|node| is_still(node, still)) {
            continue;
        }
        for (group, wait) in collectives(report) {
            let first = |node: &NodeReport| node.workers.first().map(|worker| worker.worker);
            let awaited = rack.iter().find(|node| wait.worker.is_some() && first(node) == wait.worker);
            // What a fiber there waits for may happen, so that it comes late.
            if let Some(awaited) = awaited.filter(|node| node.fibers.is_empty()) {
                found.push(describe(report, group, wait, awaited.identity.node));
            }
        }
    }
    found
}

/// Whether all workers of a node have answered, and each of its fibers has waited for nearly as long as nothing has
/// happened: how long a fiber waits is known to the nearest look only, and not too long.
fn is_still(node: &NodeReport, still: Duration) -> bool {
    let least = (still / 2).as_millis() as u64;
    let waits = |group: &FiberGroup| group.state == "waits" && group.waited.0 >= least;
    node.workers.iter().all(|worker| worker.answered && worker.jobs == 0) && node.fibers.iter().all(waits)
}

fn collectives(node: &NodeReport) -> impl Iterator<Item = (&FiberGroup, &WaitReport)> {
    let waiting = node.fibers.iter().filter_map(|group| Some((group, group.wait.as_ref()?)));
    waiting.filter(|(_, wait)| COLLECTIVES.contains(&&wait.call[..]))
}

fn describe(of: &NodeReport, group: &FiberGroup, wait: &WaitReport, awaited: u32) -> String {
    let (node, spawned_at, call) = (of.identity.node, &group.spawned_at, &wait.call);
    let at = wait.at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
    format!(
        "node {node}: the fiber spawned at {spawned_at} waits in `{call}`{at} for node {awaited}, which has no \
         fiber to call it. One fiber of each node has to: start them with `rack::on_each_node` (`main` runs on node 0 only)"
    )
}
