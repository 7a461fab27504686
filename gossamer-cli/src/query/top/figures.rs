//! What nodes do per second, computed from their reports.

use crate::query::look::SeenNode;
use crate::query::top::Order;
use crate::terminal::table::bytes;
use gossamer::inspect::NodeActivity;
use gossamer::metrics::{RequestMetrics, WorkerMetrics};
use std::collections::BTreeMap;
use std::time::Duration;

/// What a worker does per second.
#[derive(Debug)]
pub struct Rates<'a> {
    /// Its node.
    pub node: u32,
    /// What it has counted.
    pub of: &'a WorkerMetrics,
    seconds: f64,
}

impl Rates<'_> {
    /// The share of the time in which it had something to do.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.of.busy.as_secs_f64() / self.seconds
    }

    /// Requests that it has served.
    #[must_use]
    pub fn served(&self) -> f64 {
        self.of.requests_served() as f64 / self.seconds
    }

    /// Requests that it has sent.
    #[must_use]
    pub fn sent(&self) -> f64 {
        self.of.requests_sent() as f64 / self.seconds
    }

    /// Requests that wait for room.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.of.requests.iter().map(|some| some.backlog).sum()
    }

    /// The latency that half of its requests do not exceed, and the one that 99 % do not exceed, on the route with most
    /// timed requests.
    #[must_use]
    pub fn latency(&self) -> Option<(Duration, Duration)> {
        let (_, most) = self.of.latencies.iter().max_by_key(|(_, latency)| latency.count())?;
        Some((most.quantile_time(0.5)?, most.quantile_time(0.99)?))
    }

    /// The value to sort by.
    pub(crate) fn key(&self, order: Order) -> f64 {
        match order {
            Order::Worker => 0.0,
            Order::Busy => self.busy(),
            Order::Served => self.served(),
            Order::Sent => self.sent(),
            Order::Fibers => self.of.fibers_alive as f64,
        }
    }
}

/// The titles of what [`worker_cells`] gives.
pub const WORKER_TITLES: [&str; 9] =
    ["NODE", "WORKER", "BUSY", "SERVED/S", "SENT/S", "WAITING", "FIBERS", "P50", "P99"];
/// The titles of what [`peer_cells`] gives.
pub const PEER_TITLES: [&str; 6] = ["NODE", "PEER", "OVER", "SENT/S", "RECEIVED/S", "WAITING"];

/// A row of a table of workers; `node` is the name of the worker's node.
#[must_use]
pub fn worker_cells(worker: &Rates<'_>, node: String) -> Vec<String> {
    let (half, most) =
        worker.latency().map_or_else(Default::default, |(half, most)| (brief(half), brief(most)));
    vec![
        node,
        worker.of.worker.to_string(),
        percent(worker.busy()),
        short(worker.served()),
        short(worker.sent()),
        worker.waiting().to_string(),
        worker.of.fibers_alive.to_string(),
        half,
        most,
    ]
}

/// A row of a table of what nodes have with each other.
#[must_use]
pub fn peer_cells(route: &str, traffic: &Traffic, node: String, peer: String) -> Vec<String> {
    let rate = |count: u64| format!("{}/s", bytes((count as f64 / traffic.seconds) as u64));
    let waiting = traffic.waiting.to_string();
    vec![node, peer, route.to_owned(), rate(traffic.sent), rate(traffic.received), waiting]
}

/// `12 %`
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What all workers of these nodes do, in this order.
pub(crate) fn rates<'a>(nodes: &[&'a SeenNode<NodeActivity>], order: Order) -> Vec<Rates<'a>> {
    let of_node = |node: &&'a SeenNode<NodeActivity>| {
        let node = &node.said;
        let (number, seconds) = (node.identity.node, node.time.as_secs_f64().max(f64::MIN_POSITIVE));
        node.metrics.workers.iter().map(move |of| Rates { node: number, of, seconds })
    };
    let mut rates: Vec<Rates<'a>> = nodes.iter().flat_map(of_node).collect();
    rates.sort_by(|one, other| other.key(order).total_cmp(&one.key(order)));
    rates
}

/// `1.2 ms`
#[must_use]
pub fn brief(time: Duration) -> String {
    match time.as_nanos() as f64 {
        nanoseconds @ ..1e3 => format!("{nanoseconds:.0} ns"),
        nanoseconds @ ..1e6 => format!("{:.1} us", nanoseconds / 1e3),
        nanoseconds @ ..1e9 => format!("{:.1} ms", nanoseconds / 1e6),
        nanoseconds => format!("{:.1} s", nanoseconds / 1e9),
    }
}

/// `12.3 k`
#[must_use]
pub fn short(number: f64) -> String {
    match number {
        ..1e3 => format!("{number:.0}"),
        ..1e6 => format!("{:.1} k", number / 1e3),
        _ => format!("{:.1} M", number / 1e6),
    }
}

/// What one node has with another.
#[derive(Debug, Default)]
pub struct Traffic {
    /// Bytes sent.
    pub sent: u64,
    /// Bytes received.
    pub received: u64,
    /// Requests that wait for room.
    pub waiting: u64,
    /// Over this many seconds.
    pub seconds: f64,
}

/// By node, peer, and route.
#[must_use]
pub fn peers(nodes: &[&SeenNode<NodeActivity>]) -> BTreeMap<(u32, u32, &'static str), Traffic> {
    let mut peers = BTreeMap::<_, Traffic>::new();
    for node in nodes.iter().map(|node| &node.said) {
        let requests = node.metrics.workers.iter().flat_map(|worker| &worker.requests);
        for RequestMetrics { route, peer, sent_bytes, received_bytes, backlog, .. } in requests {
            if *peer == node.identity.node {
                continue;
            }
            let traffic = peers.entry((node.identity.node, *peer, route.name())).or_default();
            traffic.sent += sent_bytes;
            traffic.received += received_bytes;
            traffic.waiting += backlog;
            traffic.seconds = node.time.as_secs_f64().max(f64::MIN_POSITIVE);
        }
    }
    peers
}

/// What workers were found running, each with its share of all samples of all workers, most frequent first.
#[must_use]
pub fn running(nodes: &[&SeenNode<NodeActivity>]) -> Vec<(String, f64)> {
    let nodes = || nodes.iter().map(|node| &node.said);
    let looks: f64 = nodes().map(|node| node.looks as f64 * node.metrics.workers.len() as f64).sum();
    let mut counts = BTreeMap::<&str, u64>::new();
    for (what, count) in nodes().flat_map(|node| &node.running) {
        *counts.entry(what).or_default() += count;
    }
    let share = |(what, count): (&str, u64)| (what.to_owned(), count as f64 / looks.max(1.0));
    let mut running: Vec<(String, f64)> = counts.into_iter().map(share).collect();
    running.sort_by(|one, other| other.1.total_cmp(&one.1));
    running
}
