//! Fibers that wait in a collective of nodes for a node that has no fiber, so that none calls it there.

use crate::inspect::report::{FiberGroup, NodeReport, WaitReport};
use crate::inspect::rest::at_rest;
use std::time::Duration;

/// What they wait in.
const COLLECTIVES: [&str; 4] = ["rack::barrier", "rack::gather", "rack::all_reduce", "rack::broadcast"];

/// Says for each place where a collective is called what it waits for, if each node of its rack has reported, and none
/// has a fiber that goes on. Nothing has happened for so long.
pub(super) fn missing_nodes(reports: &[NodeReport], still: Duration) -> Vec<String> {
    let mut found = Vec::new();
    for rack in at_rest(reports, still) {
        for (report, group, wait) in rack.iter().flat_map(|report| collectives(report)) {
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

fn collectives(node: &NodeReport) -> impl Iterator<Item = (&NodeReport, &FiberGroup, &WaitReport)> {
    let waiting = node.fibers.iter().filter_map(move |group| Some((node, group, group.wait.as_ref()?)));
    waiting.filter(|(_, _, wait)| COLLECTIVES.contains(&&wait.call[..]))
}

fn describe(of: &NodeReport, group: &FiberGroup, wait: &WaitReport, awaited: u32) -> String {
    let (node, spawned_at, call) = (of.identity.node, &group.spawned_at, &wait.call);
    let at = wait.at.as_ref().map_or_else(String::new, |at| format!(" at {at}"));
    format!(
        "node {node}: the fiber spawned at {spawned_at} waits in `{call}`{at} for node {awaited}, which has no \
         fiber to call it. One fiber of each node has to: start them with `rack::on_each_node` (`main` runs on node 0 only)"
    )
}
