//! The metrics in the form of Prometheus: names, units, meanings, and the samples of a snapshot. `docs/metrics.md`
//! lists them.

use crate::metrics::{
    Distribution, NodeMetrics, OwnValue, RequestMetrics, StreamMetrics, Unit, WorkerMetrics,
};

/// What kind of metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FamilyKind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric, whatever its labels are.
#[derive(Clone, Debug)]
pub(super) struct Family {
    /// Without the unit and the suffix.
    pub(super) name: String,
    pub(super) kind: FamilyKind,
    pub(super) unit: Unit,
    pub(super) help: String,
    pub(super) samples: Vec<Sample>,
}

/// A value, under its labels.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) labels: Vec<(String, String)>,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Count(u64),
    Signed(i64),
    Real(f64),
    /// The sum, the count, and the buckets: the upper bound and the number of values of each.
    Histogram {
        sum: f64,
        count: u64,
        buckets: Vec<(f64, u64)>,
    },
}

/// A metric of each worker.
type OfWorker = (&'static str, FamilyKind, Unit, &'static str, fn(&WorkerMetrics) -> Value);
/// A metric of the requests of each worker, by route and node.
type OfRequests = (&'static str, FamilyKind, Unit, &'static str, fn(&RequestMetrics) -> u64);
/// A metric of the streams of a process, by their ends.
type OfStreams = (&'static str, FamilyKind, Unit, &'static str, fn(&StreamMetrics) -> u64);

use FamilyKind::{Counter, Gauge};
use Unit::{Bytes, None as Things, Seconds};
use Value::{Count, Real};

const OF_WORKERS: [OfWorker; 11] = [
    ("worker_uptime", Gauge, Seconds, "Time since the worker was made.", |w| Real(w.uptime.as_secs_f64())),
    ("worker_busy", Counter, Seconds, "Time with something to do.", |w| Real(w.busy.as_secs_f64())),
    ("worker_asleep", Counter, Seconds, "Time asleep.", |w| Real(w.asleep.as_secs_f64())),
    ("worker_sleeps", Counter, Things, "How often the worker fell asleep.", |w| Count(w.sleeps)),
    ("worker_turns", Counter, Things, "Rounds of the loop.", |w| Count(w.turns)),
    ("worker_longest_turn", Gauge, Seconds, "The longest round of the loop so far.", |w| {
        Real(w.longest_turn.as_secs_f64())
    }),
    ("fibers_started", Counter, Things, "Fibers that were started.", |w| Count(w.fibers_started)),
    ("fibers_alive", Gauge, Things, "Fibers that have not ended.", |w| Count(w.fibers_alive)),
    ("fibers_waiting", Gauge, Things, "Fibers that wait for something.", |w| Count(w.fibers_waiting)),
    ("fiber_stacks", Gauge, Bytes, "Addresses of stacks of fibers.", |w| Count(w.stack_bytes)),
    ("lane_memory", Gauge, Bytes, "Slots that others write and the worker reads.", |w| Count(w.lane_bytes)),
];

const OF_REQUESTS: [OfRequests; 11] = [
    ("requests_sent", Counter, Things, "Requests sent.", |r| r.sent),
    ("requests_answered", Counter, Things, "Requests sent that were answered.", |r| r.answered),
    ("requests_failed", Counter, Things, "Requests sent that were answered with an error.", |r| r.failed),
    ("requests_served", Counter, Things, "Requests served.", |r| r.served),
    ("requests_served_failed", Counter, Things, "Requests served that have failed.", |r| r.served_failed),
    ("batches_served", Counter, Things, "Batches of requests served.", |r| r.served_batches),
    ("sent", Counter, Bytes, "Bytes sent in requests, large values and answers.", |r| r.sent_bytes),
    ("received", Counter, Bytes, "Bytes received in requests and answers.", |r| r.received_bytes),
    ("large_values_sent", Counter, Things, "Values of requests that did not fit a slot.", |r| r.large_values),
    ("large_values", Counter, Bytes, "Bytes of these.", |r| r.large_bytes),
    ("backlog_requests", Gauge, Things, "Requests that wait for room on a lane.", |r| r.backlog),
];

const OF_STREAMS: [OfStreams; 2] = [
    ("stream", Counter, Bytes, "Bytes written to memory streams, or read.", |s| s.bytes),
    ("stream_waits", Counter, Things, "Waits of an end of a stream for the other.", |s| s.waits),
];

const LATENCY: (&str, &str) = (
    "request_latency",
    "Time of a request from its publication until its answer is taken, of one batch of 64.",
);
const BATCHES: (&str, &str) = ("batch_requests", "Requests of a batch sent.");

/// The powers of two, in nanoseconds or other units, that bound the buckets of histograms: from about a microsecond
/// to a minute.
const POWERS: std::ops::RangeInclusive<u32> = 8..=36;
const NANOSECONDS: f64 = 1e9;

fn labels(some: &[(&str, &str)]) -> Vec<(String, String)> {
    some.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn family(name: &str, kind: FamilyKind, unit: Unit, help: &str, samples: Vec<Sample>) -> Family {
    Family { name: format!("gossamer_{name}"), kind, unit, help: help.to_owned(), samples }
}

/// A distribution in buckets that powers of two bound.
fn histogram(values: &Distribution, unit: Unit) -> Value {
    let scale = if unit == Unit::Seconds { NANOSECONDS } else { 1.0 };
    let (mut buckets, mut passed) = (Vec::new(), 0);
    for power in POWERS {
        let below = values.below(1 << power);
        buckets.push(((1_u64 << power) as f64 / scale, below - passed));
        passed = below;
    }
    buckets.push((f64::MAX, values.count() - passed));
    Value::Histogram { sum: values.sum() as f64 / scale, count: values.count(), buckets }
}

/// How full the batches were that one node sent by one route.
fn batches(requests: &[&RequestMetrics]) -> Value {
    let sum: u64 = requests.iter().map(|requests| requests.sent.saturating_sub(requests.direct)).sum();
    let classes = requests[0].batches.len();
    let of_class = |class: usize| requests.iter().map(|requests| requests.batches[class]).sum::<u64>();
    let end = |class: usize| if class + 1 < classes { ((2_u64 << class) - 1) as f64 } else { f64::MAX };
    let buckets: Vec<_> = (0..classes).map(|class| (end(class), of_class(class))).collect();
    Value::Histogram { sum: sum as f64, count: buckets.iter().map(|(_, count)| count).sum(), buckets }
}

/// The metrics of one node.
pub(super) fn families(metrics: &NodeMetrics) -> Vec<Family> {
    let node = metrics.node.to_string();
    let mut families = Vec::new();
    for (name, kind, unit, help, value) in OF_WORKERS {
        let sample = |worker: &WorkerMetrics| Sample {
            labels: labels(&[("node", &node), ("worker", &worker.worker.to_string())]),
            value: value(worker),
        };
        families.push(family(name, kind, unit, help, metrics.workers.iter().map(sample).collect()));
    }
    for (name, kind, unit, help, value) in OF_REQUESTS {
        let of_worker = |worker: &WorkerMetrics| {
            let number = worker.worker.to_string();
            let sample = |requests: &RequestMetrics| Sample {
                labels: labels(&[
                    ("node", &node),
                    ("worker", &number),
                    ("route", requests.route.name()),
                    ("peer", &requests.peer.to_string()),
                ]),
                value: Count(value(requests)),
            };
            worker.requests.iter().map(sample).collect::<Vec<_>>()
        };
        families.push(family(name, kind, unit, help, metrics.workers.iter().flat_map(of_worker).collect()));
    }
    let total = metrics.total();
    let of_route = |route: &str| labels(&[("node", &node), ("route", route)]);
    let latencies = total.latencies.iter().map(|(route, latency)| Sample {
        labels: of_route(route.name()),
        value: histogram(latency, Unit::Seconds),
    });
    families.push(family(LATENCY.0, FamilyKind::Histogram, Unit::Seconds, LATENCY.1, latencies.collect()));
    let by_route = total.requests.chunk_by(|one, other| one.route == other.route).map(Vec::from_iter);
    let fills = by_route
        .filter(|some| some[0].batches != [0; 8] || some[0].sent > 0)
        .map(|some| Sample { labels: of_route(some[0].route.name()), value: batches(&some) });
    families.push(family(BATCHES.0, FamilyKind::Histogram, Unit::None, BATCHES.1, fills.collect()));
    for (name, kind, unit, help, value) in OF_STREAMS {
        let ends = [("sender", &metrics.senders), ("receiver", &metrics.receivers)];
        let samples = ends.map(|(end, streams)| Sample {
            labels: labels(&[("node", &node), ("end", end)]),
            value: Count(value(streams)),
        });
        families.push(family(name, kind, unit, help, samples.into()));
    }
    families.extend(own(metrics, &node));
    families
}

/// The program's own metrics.
fn own(metrics: &NodeMetrics, node: &str) -> Vec<Family> {
    let mut families: Vec<Family> = Vec::new();
    for own in &metrics.own {
        let (kind, value) = match &own.value {
            OwnValue::Counter(count) => (Counter, Count(*count)),
            OwnValue::Gauge(count) => (Gauge, Value::Signed(*count)),
            OwnValue::Histogram(values) => (FamilyKind::Histogram, histogram(values, own.unit)),
        };
        let value = match value {
            Count(count) if own.unit == Unit::Seconds => Real(count as f64 / NANOSECONDS),
            Value::Signed(count) if own.unit == Unit::Seconds => Real(count as f64 / NANOSECONDS),
            value => value,
        };
        let mut all = labels(&[("node", node)]);
        all.extend(own.labels.iter().cloned());
        let sample = Sample { labels: all, value };
        match families.iter_mut().find(|family| family.name == own.name) {
            Some(family) => family.samples.push(sample),
            None => families.push(Family {
                name: own.name.clone(),
                kind,
                unit: own.unit,
                help: own.help.clone(),
                samples: vec![sample],
            }),
        }
    }
    families
}
