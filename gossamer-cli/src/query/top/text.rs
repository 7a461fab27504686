//! What nodes do as plain lines, and as JSON.

use crate::query::look::{SeenNode, title};
use crate::query::top::Order;
use crate::query::top::figures::{
    PEER_TITLES, Rates, WORKER_TITLES, peer_cells, peers, rates, running, worker_cells,
};
use crate::terminal::table::Table;
use gossamer::inspect::NodeActivity;
use serde_json::{Value, json};

/// How many of the things that run most often are shown.
const SHOWN: usize = 10;

/// The nodes of one runtime.
pub(crate) fn text(nodes: &[&SeenNode<NodeActivity>], order: Order) -> String {
    let mut table = Table::new(&WORKER_TITLES);
    for worker in rates(nodes, order) {
        table.add(worker_cells(&worker, worker.node.to_string()));
    }
    let mut text = format!("{}\n\n{}", title(nodes), table.text());
    let peers = peers(nodes);
    if !peers.is_empty() {
        let mut table = Table::new(&PEER_TITLES);
        for ((node, peer, route), traffic) in peers {
            table.add(peer_cells(route, &traffic, node.to_string(), peer.to_string()));
        }
        text += &format!("\n{}", table.text());
    }
    let running = running(nodes);
    if !running.is_empty() {
        text += "\nfound running, of all samples of all workers\n";
    }
    for (what, share) in running.iter().take(SHOWN) {
        text += &format!("{:5.1} %  {what}\n", share * 100.0);
    }
    text
}

/// The same as JSON.
pub(crate) fn json(nodes: &[&SeenNode<NodeActivity>]) -> Value {
    let worker = |worker: &Rates<'_>| {
        let latency = worker.latency();
        json!({
            "node": worker.node, "worker": worker.of.worker, "busy": worker.busy(),
            "served_per_second": worker.served(), "sent_per_second": worker.sent(),
            "requests_waiting": worker.waiting(), "fibers": worker.of.fibers_alive,
            "latency_ns": latency.map(|(half, most)| json!({ "p50": half.as_nanos() as u64, "p99": most.as_nanos() as u64 })),
        })
    };
    let peers = peers(nodes).into_iter().map(|((node, peer, route), traffic)| {
        json!({
            "node": node, "peer": peer, "over": route, "sent_bytes_per_second": traffic.sent as f64 / traffic.seconds,
            "received_bytes_per_second": traffic.received as f64 / traffic.seconds, "requests_waiting": traffic.waiting,
        })
    });
    let running = running(nodes).into_iter().map(|(what, share)| json!({ "what": what, "share": share }));
    json!({
        "rack": nodes[0].said.identity.rack,
        "nodes": nodes.iter().map(|seen| node(seen)).collect::<Vec<_>>(),
        "workers": rates(nodes, Order::Worker).iter().map(worker).collect::<Vec<_>>(),
        "peers": peers.collect::<Vec<_>>(),
        "running": running.collect::<Vec<_>>(),
    })
}

fn node(seen: &SeenNode<NodeActivity>) -> Value {
    let (of, place) = (&seen.said.identity, seen.place.as_ref());
    json!({
        "node": of.node, "process": of.process, "program": of.program, "seconds": seen.said.time.as_secs_f64(),
        "application": place.map(|place| &place.application), "machine": place.map(|place| &place.machine),
    })
}
