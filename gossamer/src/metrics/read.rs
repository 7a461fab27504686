//! Taking a snapshot, from any thread, whatever the workers do.

use crate::counters::distribution::BUCKETS;
use crate::counters::stream::{EndCounters, RECEIVERS, SENDERS};
use crate::counters::worker::{LaneRoute, WorkerCounters};
use crate::metrics::cells::Reader;
use crate::metrics::own;
use crate::metrics::{Distribution, NodeMetrics, RequestRoute, StreamMetrics, WorkerMetrics};
use crate::worker::nodes::peers::Peers;
use crate::worker::shared::{self, Shared};
use crate::worker::{self, no_runtime};
use std::sync::Arc;
use std::time::Duration;

/// The metrics of this node so far: those of its workers, of streams, and the program's own.
///
/// They are those of the calling fiber's runtime; on a thread that is not a worker, of the oldest runtime of the
/// process. This only reads memory, for a few microseconds per worker and lane, and no worker takes part. What is
/// counted at the same time may or may not be included.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let before = gossamer::metrics();
/// gossamer::spawn(|| ()).join();
/// let passed = &gossamer::metrics() - &before;
/// assert_eq!(passed.total().fibers_started, 1);
/// # });
/// ```
///
/// # Panics
/// If there is no runtime in this process.
#[track_caller]
#[must_use]
pub fn metrics() -> NodeMetrics {
    let own = worker::with(|here| Some(Arc::clone(&here?.shared)));
    match own.or_else(shared::oldest) {
        Some(shared) => of_node(&shared),
        None => no_runtime("gossamer::metrics", ""),
    }
}

/// The metrics of one node so far.
pub(crate) fn of_node(shared: &Shared) -> NodeMetrics {
    let workers = shared.mailboxes.iter().enumerate();
    let of_others = shared::oldest().is_some_and(|oldest| oldest.base == shared.base);
    NodeMetrics {
        node: node_of(shared),
        workers: workers.map(|(number, _)| of_worker(shared, shared.first + number)).collect(),
        senders: of_ends(&SENDERS, of_others),
        receivers: of_ends(&RECEIVERS, of_others),
        own: own::read(Reader { runtime: shared.base, of_others }),
    }
}

/// The number of a node.
pub(super) fn node_of(shared: &Shared) -> u32 {
    shared.peers.as_ref().map_or(0, Peers::node) as u32
}

/// Those of the process; if several nodes are in one process, only one reports them.
fn of_ends(counters: &EndCounters, told: bool) -> StreamMetrics {
    let (bytes, waits) = if told { counters.read() } else { (0, 0) };
    StreamMetrics { bytes, waits }
}

fn of_worker(shared: &Shared, worker: usize) -> WorkerMetrics {
    let mailbox = shared.mailbox(worker);
    let counters = &*mailbox.counters;
    let (fibers, time) = (&counters.fibers, &counters.time);
    let (uptime, busy, asleep) = time.read();
    let alive = fibers.alive.get();
    let mut metrics = WorkerMetrics {
        worker: worker as u32,
        uptime: Duration::from_nanos(uptime),
        busy: Duration::from_nanos(busy),
        asleep: Duration::from_nanos(asleep),
        sleeps: time.sleeps.get(),
        turns: mailbox.view.turns(),
        longest_turn: Duration::from_nanos(time.longest_turn.get()),
        fibers_started: fibers.started.get(),
        fibers_alive: alive,
        fibers_waiting: alive.saturating_sub(fibers.ready.get()),
        stack_bytes: fibers.stacks.get() * shared.config.stack_bytes() as u64,
        lane_bytes: fibers.lane_bytes.get(),
        requests: Vec::new(),
        latencies: latencies(counters),
    };
    read_lanes(shared, counters, &mut metrics);
    let node = node_of(shared);
    let direct = fibers.direct_requests();
    if direct > 0 {
        let here = metrics.requests_by(RequestRoute::Here, node);
        here.sent += direct;
        here.direct = direct;
        here.answered += direct;
        here.served += direct;
        here.failed += fibers.failed.get();
        here.served_failed += fibers.failed.get();
    }
    let outside = counters.outside.served.get();
    if outside > 0 {
        let from_outside = metrics.requests_by(RequestRoute::Outside, node);
        from_outside.served = outside;
        from_outside.served_failed = counters.outside.failed.get();
    }
    metrics
}

fn read_lanes(shared: &Shared, counters: &WorkerCounters, metrics: &mut WorkerMetrics) {
    let node = |worker: usize| shared.peers.as_ref().map_or(0, |peers| peers.node_of(worker)) as u32;
    counters.with_lanes(|lanes| {
        for lane in &lanes.sent {
            let (sent, sum) = (&lane.counters, metrics.requests_by(lane.route.into(), node(lane.peer)));
            sum.sent += sent.requests.get();
            sum.answered += sent.answered.get();
            sum.failed += sent.failed.get();
            sum.batches.iter_mut().zip(&sent.fills).for_each(|(sum, count)| *sum += count.get());
            sum.large_values += sent.large_values.get();
            sum.large_bytes += sent.large_bytes.get();
            sum.sent_bytes += sent.bytes.get() + sent.large_bytes.get();
            sum.received_bytes += sent.answer_bytes.get();
            sum.backlog += sent.backlog.get();
        }
        for lane in &lanes.served {
            let (served, sum) = (&lane.counters, metrics.requests_by(lane.route.into(), node(lane.peer)));
            sum.served += served.requests.get();
            sum.served_failed += served.failed.get();
            sum.served_batches += served.batches.get();
            sum.sent_bytes += served.answer_bytes.get();
            sum.received_bytes += served.bytes.get();
        }
    });
    metrics.requests.sort_by_key(|requests| (requests.route, requests.peer));
}

fn latencies(counters: &WorkerCounters) -> Vec<(RequestRoute, Distribution)> {
    let of_route = |route: LaneRoute| {
        let mut buckets = [0; BUCKETS];
        let sum = counters.latency(route).add_to(&mut buckets);
        (RequestRoute::from(route), Distribution::new(&buckets, sum))
    };
    LaneRoute::ALL.map(of_route).into_iter().filter(|(_, latency)| latency.count() > 0).collect()
}
