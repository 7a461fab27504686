//! The metrics at one moment.

use crate::NoRef;
use crate::counters::lane::FILLS;
use crate::counters::worker;
use crate::metrics::arithmetic::{Keyed, Quantity, keyed, quantity};
use crate::metrics::{Distribution, OwnMetric, OwnValue};
use std::ops::Sub;
use std::time::Duration;

/// The route of requests from one worker to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, NoRef)]
#[non_exhaustive]
pub enum RequestRoute {
    /// To a property of the worker itself.
    Here,
    /// To another worker of the process, in its memory.
    Process,
    /// To another process of the machine, in memory that both have mapped.
    Shm,
    /// To another machine over TCP.
    Tcp,
    /// To another machine over RDMA.
    Verbs,
    /// From a thread that is not a worker, through the inbox.
    Outside,
}

impl RequestRoute {
    /// The name in metrics, in lower case.
    ///
    /// ```
    /// use gossamer::metrics::RequestRoute;
    /// assert_eq!(RequestRoute::Shm.name(), "shm"); // the label `route` of gossamer_requests_sent_total
    /// ```
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Here => "here",
            Self::Process => "process",
            Self::Shm => "shm",
            Self::Tcp => "tcp",
            Self::Verbs => "verbs",
            Self::Outside => "outside",
        }
    }
}

impl From<worker::LaneRoute> for RequestRoute {
    fn from(route: worker::LaneRoute) -> Self {
        match route {
            worker::LaneRoute::Here => Self::Here,
            worker::LaneRoute::Process => Self::Process,
            worker::LaneRoute::Shm => Self::Shm,
            worker::LaneRoute::Tcp => Self::Tcp,
            worker::LaneRoute::Verbs => Self::Verbs,
        }
    }
}

/// The requests of one worker with all workers of one node, by one route.
#[derive(Clone, Debug, PartialEq, NoRef)]
#[non_exhaustive]
pub struct RequestMetrics {
    /// The route.
    pub route: RequestRoute,
    /// The node at the other end.
    pub peer: u32,
    /// Requests that this worker has sent.
    pub sent: u64,
    /// Of these, those that were served within the call, and so are in no batch.
    pub direct: u64,
    /// Of those sent, those that were answered.
    pub answered: u64,
    /// Of these, those that were answered with an error: the closure panicked, or the property was gone.
    pub failed: u64,
    /// Requests that this worker has served.
    pub served: u64,
    /// Of these, those that failed.
    pub served_failed: u64,
    /// Batches that this worker has sent, by how full they were: entry `n` counts batches of 2^n up to 2^(n + 1) - 1
    /// requests, the last entry all larger ones too.
    pub batches: [u64; FILLS],
    /// Batches that it has served.
    pub served_batches: u64,
    /// Bytes that it has sent: requests, answers to those of others, and large values of requests.
    pub sent_bytes: u64,
    /// Bytes that it has received: answers, and requests of others, without large values.
    pub received_bytes: u64,
    /// Values of requests that did not fit a slot.
    pub large_values: u64,
    /// Their bytes, which `sent_bytes` contains.
    pub large_bytes: u64,
    /// Requests that wait for room on a lane now.
    pub backlog: u64,
}

quantity!(RequestMetrics: counted sent direct answered failed served served_failed batches served_batches sent_bytes received_bytes
    large_values large_bytes; present backlog; largest);

impl RequestMetrics {
    pub(super) fn new(route: RequestRoute, peer: u32) -> Self {
        Self {
            route,
            peer,
            sent: 0,
            direct: 0,
            answered: 0,
            failed: 0,
            served: 0,
            served_failed: 0,
            batches: [0; FILLS],
            served_batches: 0,
            sent_bytes: 0,
            received_bytes: 0,
            large_values: 0,
            large_bytes: 0,
            backlog: 0,
        }
    }
}

/// The metrics of one worker, or the sum of several.
#[derive(Clone, Debug, Default, PartialEq, NoRef)]
#[non_exhaustive]
pub struct WorkerMetrics {
    /// Its index among the workers of all nodes; in a sum that of the first.
    pub worker: u32,
    /// The time since it was made; in a sum, that of all workers together.
    pub uptime: Duration,
    /// Of this, the time with something to do. Gaps of less than about a microsecond count as busy.
    pub busy: Duration,
    /// Of this, the time asleep: neither busy nor looking for work.
    pub asleep: Duration,
    /// How often it fell asleep.
    pub sleeps: u64,
    /// Rounds of its loop.
    pub turns: u64,
    /// The longest completed turn, or a little more: the clock is read every 128 turns, and more often once turns are
    /// long.
    pub longest_turn: Duration,
    /// Fibers that were started.
    pub fibers_started: u64,
    /// Those that have not ended.
    pub fibers_alive: u64,
    /// Of these, those that were waiting at the end of the last turn.
    pub fibers_waiting: u64,
    /// Bytes of address space of the stacks of fibers, including idle ones. Only pages that were used have memory.
    pub stack_bytes: u64,
    /// Bytes of slots that others write and this worker reads.
    pub lane_bytes: u64,
    /// Its requests, by route and node.
    pub requests: Vec<RequestMetrics>,
    /// How long requests take, in nanoseconds, by route: one batch of 64 is sampled, from its publication until its
    /// answers are taken, and counted for each of its requests.
    pub latencies: Vec<(RequestRoute, Distribution)>,
}

quantity!(WorkerMetrics: counted uptime busy asleep sleeps turns fibers_started requests latencies;
    present fibers_alive fibers_waiting stack_bytes lane_bytes; largest longest_turn);

keyed!(RequestMetrics: route peer; WorkerMetrics: worker; NodeMetrics: node;);

impl Keyed for (RequestRoute, Distribution) {
    fn is_of(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Quantity for (RequestRoute, Distribution) {
    fn plus(&mut self, other: &Self) {
        self.1.plus(&other.1);
    }

    fn minus(&mut self, earlier: &Self) {
        self.1.minus(&earlier.1);
    }
}

impl WorkerMetrics {
    /// The requests of one route and node.
    pub(super) fn requests_by(&mut self, route: RequestRoute, peer: u32) -> &mut RequestMetrics {
        let place = self.requests.iter().position(|some| (some.route, some.peer) == (route, peer));
        let place = place.unwrap_or_else(|| {
            self.requests.push(RequestMetrics::new(route, peer));
            self.requests.len() - 1
        });
        &mut self.requests[place]
    }

    fn sum_of(&self, count: impl Fn(&RequestMetrics) -> u64) -> u64 {
        self.requests.iter().map(count).sum()
    }

    /// Requests sent, by all routes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let far = gossamer::Trustee::all()[1].entrust(0_u64);
    /// let before = gossamer::metrics();
    /// (0..10).for_each(|_| far.apply(|count| *count += 1));
    /// let passed = &gossamer::metrics() - &before;
    /// assert!(passed.workers[0].requests_sent() >= 10); // the one that this fiber is on
    /// # });
    /// ```
    pub fn requests_sent(&self) -> u64 {
        self.sum_of(|some| some.sent)
    }

    /// Requests served, by all routes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let count = gossamer::entrust(0_u64);
    /// let before = gossamer::metrics();
    /// (0..10).for_each(|_| count.apply(|count| *count += 1));
    /// let passed = &gossamer::metrics() - &before;
    /// assert!(passed.total().requests_served() >= 10);
    /// # });
    /// ```
    pub fn requests_served(&self) -> u64 {
        self.sum_of(|some| some.served)
    }

    /// Requests that were answered with an error, by all routes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let far = gossamer::Trustee::all()[1].entrust(vec![1, 2]);
    /// let before = gossamer::metrics();
    /// assert!(far.try_apply(|list| list[7]).is_err());
    /// let passed = &gossamer::metrics() - &before;
    /// assert_eq!(passed.total().requests_failed(), 1);
    /// # });
    /// ```
    pub fn requests_failed(&self) -> u64 {
        self.sum_of(|some| some.failed)
    }

    /// How long requests by one route took, in nanoseconds.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::metrics::RequestRoute;
    /// let far = gossamer::Trustee::all()[1].entrust(0_u64);
    /// (0..1000).for_each(|_| far.apply(|count| *count += 1));
    /// let latency = gossamer::metrics().total().latency(RequestRoute::Process); // of some of them
    /// if let (Some(median), Some(most)) = (latency.quantile_time(0.5), latency.quantile_time(1.0)) {
    ///     println!("half of the requests took less than {median:?}, all less than {most:?}");
    ///     assert!(median <= most);
    /// }
    /// # });
    /// ```
    pub fn latency(&self, route: RequestRoute) -> Distribution {
        self.latencies
            .iter()
            .find(|(some, _)| *some == route)
            .map(|(_, latency)| latency.clone())
            .unwrap_or_default()
    }
}

/// The metrics of one process's ends of memory streams: of those that write, or those that read.
#[derive(Clone, Debug, Default, PartialEq, Eq, NoRef)]
#[non_exhaustive]
pub struct StreamMetrics {
    /// Bytes that were written or read. They are counted each mebibyte, and at the end of a stream; for windows, each
    /// block.
    pub bytes: u64,
    /// How often an end had to wait for the other.
    pub waits: u64,
}

quantity!(StreamMetrics: counted bytes waits; present; largest);

/// The metrics of one node. Subtract by reference: `&later - &earlier`.
#[derive(Clone, Debug, Default, PartialEq, NoRef)]
#[non_exhaustive]
pub struct NodeMetrics {
    /// Its number.
    pub node: u32,
    /// Those of each worker.
    pub workers: Vec<WorkerMetrics>,
    /// Ends of streams that write, of the whole process.
    pub senders: StreamMetrics,
    /// Ends of streams that read, of the whole process.
    pub receivers: StreamMetrics,
    /// The program's own metrics.
    pub own: Vec<OwnMetric>,
}

quantity!(NodeMetrics: counted workers senders receivers own; present; largest);

impl NodeMetrics {
    /// The sum of all its workers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let fibers = [(); 4].map(|()| gossamer::spawn(|| gossamer::yield_now()));
    /// fibers.map(|fiber| fiber.join());
    /// let metrics = gossamer::metrics();
    /// let total = metrics.total();
    /// assert!(total.fibers_started >= 4);
    /// assert!(metrics.workers.iter().all(|worker| worker.turns <= total.turns));
    /// # });
    /// ```
    pub fn total(&self) -> WorkerMetrics {
        summed(&self.workers)
    }

    /// A counter that the program defines, summed over all labels; zero if there is none.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let orders = gossamer::metrics::Metric::new("shop_orders", "Orders that were taken.").counter();
    /// let before = gossamer::metrics();
    /// orders.add(2);
    /// let passed = &gossamer::metrics() - &before;
    /// assert_eq!((passed.counter("shop_orders"), passed.counter("shop_refunds")), (2, 0));
    /// # });
    /// ```
    pub fn counter(&self, name: &str) -> u64 {
        let counts = self.own.iter().filter(|own| own.name == name);
        counts.map(|own| if let OwnValue::Counter(count) = own.value { count } else { 0 }).sum()
    }
}

/// The metrics of all nodes. Subtract by reference: `&later - &earlier`.
#[derive(Clone, Debug, Default, PartialEq, NoRef)]
#[non_exhaustive]
pub struct RackMetrics {
    /// Each node, in order.
    pub nodes: Vec<NodeMetrics>,
}

quantity!(RackMetrics: counted nodes; present; largest);

impl RackMetrics {
    /// All nodes as if they were one: the workers of all, and the sums of what each node counts.
    ///
    /// ```
    /// use gossamer::{Config, rack};
    /// let (nodes, workers) = rack::run_in_process(2, Config::default().threads(1), || {
    ///     let all = rack::metrics();
    ///     (all.nodes.len(), all.total().workers.len())
    /// });
    /// assert_eq!((nodes, workers), (2, 2));
    /// ```
    pub fn total(&self) -> NodeMetrics {
        summed(&self.nodes)
    }
}

/// The sum of several, with the key of the first.
fn summed<T: Quantity + Clone + Default>(some: &[T]) -> T {
    let Some((first, others)) = some.split_first() else { return T::default() };
    let mut sum = first.clone();
    others.iter().for_each(|other| sum.plus(other));
    sum
}
