//! What a worker counts.

use crate::counters::Count;
use crate::counters::calls_left::CallsLeft;
use crate::counters::distribution::BucketCounts;
use crate::counters::lane::{SentCounters, SentNotes, ServedCounters};
use crate::counters::stopwatch::Stopwatch;
use crate::counters::trace::{Sampling, TraceRing};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The route of requests from one worker to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum LaneRoute {
    /// To the worker itself.
    Here,
    /// In memory, to another worker of its process.
    Process,
    /// In memory that another process of its machine has mapped.
    Shm,
    /// Over TCP.
    Tcp,
    /// Over RDMA.
    Verbs,
}

impl LaneRoute {
    pub(crate) const ALL: [Self; 5] = [Self::Here, Self::Process, Self::Shm, Self::Tcp, Self::Verbs];
}

/// A lane, as one of its ends counts it.
#[derive(Debug)]
pub(crate) struct Counted<T> {
    /// The worker at the other end.
    pub(crate) peer: usize,
    pub(crate) route: LaneRoute,
    pub(crate) counters: Arc<T>,
}

/// The ends of lanes that a worker has.
#[derive(Debug, Default)]
pub(crate) struct CountedLanes {
    pub(crate) sent: Vec<Counted<SentCounters>>,
    pub(crate) served: Vec<Counted<ServedCounters>>,
}

/// What one worker counts. Each line is written by its thread alone, but for a mark of [`CallsLeft`].
#[derive(Debug, Default)]
pub(crate) struct WorkerCounters {
    pub(crate) fibers: FiberCounters,
    pub(crate) time: TimeCounters,
    pub(crate) outside: OutsideCounters,
    /// Locked when a lane is made, and by readers.
    lanes: Mutex<CountedLanes>,
    /// How long requests take, by their route.
    latencies: [Arc<BucketCounts>; LaneRoute::ALL.len()],
    /// Where its events are recorded, if it is traced.
    pub(crate) trace: Option<Arc<TraceRing>>,
}

/// Counts of fibers, and of what they do on their own worker.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct FiberCounters {
    pub(crate) started: Count,
    /// Those in the middle of a job.
    pub(crate) alive: Count,
    /// Of these, those that were runnable at the end of the last turn.
    pub(crate) ready: Count,
    /// Stacks, with a fiber or without.
    pub(crate) stacks: Count,
    /// Calls that fibers may still make until one suspends them. Each call takes one off, so calls are counted by
    /// what is left of the budget: a call to a local property costs hardly more than a count.
    pub(crate) calls_left: CallsLeft,
    pub(crate) calls_granted: Count,
    /// Of these, the ones that were not requests.
    pub(crate) other_calls: Count,
    /// Of the requests, those that failed.
    pub(crate) failed: Count,
    /// Bytes of the slots that other workers write, and this one reads.
    pub(crate) lane_bytes: Count,
}

impl FiberCounters {
    /// Requests of fibers to properties of their own worker that were served within the call.
    pub(crate) fn direct_requests(&self) -> u64 {
        let calls = self.calls_granted.get().wrapping_sub(self.calls_left.get());
        let requests = calls.wrapping_sub(self.other_calls.get());
        // A reader may see one before the others are written, and so a negative number.
        if requests.cast_signed() < 0 { 0 } else { requests }
    }
}

/// Requests of threads that are not workers.
#[repr(align(128))]
#[derive(Debug, Default)]
pub(crate) struct OutsideCounters {
    pub(crate) served: Count,
    pub(crate) failed: Count,
}

/// How a worker spends its time.
#[repr(align(128))]
#[derive(Debug)]
pub(crate) struct TimeCounters {
    started: Instant,
    busy: Stopwatch,
    asleep: Stopwatch,
    pub(crate) sleeps: Count,
    pub(crate) longest_turn: Count,
}

impl Default for TimeCounters {
    fn default() -> Self {
        let time = Self {
            started: Instant::now(),
            busy: Stopwatch::default(),
            asleep: Stopwatch::default(),
            sleeps: Count::default(),
            longest_turn: Count::default(),
        };
        time.busy.start(0);
        time
    }
}

impl TimeCounters {
    /// Nanoseconds since the worker was made.
    fn at(&self, when: Instant) -> u64 {
        when.saturating_duration_since(self.started).as_nanos() as u64
    }

    /// By the worker: it has had something to do since then.
    pub(crate) fn begin_work(&self, since: Instant) {
        self.busy.start(self.at(since));
    }

    /// By the worker: it has had nothing to do since then.
    pub(crate) fn end_work(&self, since: Instant) {
        self.busy.stop(self.at(since));
    }

    /// By the worker: it sleeps from now on.
    pub(crate) fn fall_asleep(&self, now: Instant) {
        self.sleeps.add(1);
        self.asleep.start(self.at(now));
    }

    /// By the worker: it has slept.
    pub(crate) fn wake_up(&self, now: Instant) {
        self.asleep.stop(self.at(now));
    }

    /// By the worker: no turn since the last call took longer than this.
    pub(crate) fn note_turn_of(&self, nanoseconds: u64) {
        self.longest_turn.set(self.longest_turn.get().max(nanoseconds));
    }

    /// Nanoseconds since the worker was made, and of these the busy ones and those asleep. By anybody.
    pub(crate) fn read(&self) -> (u64, u64, u64) {
        let now = self.at(Instant::now());
        (now, self.busy.read(now), self.asleep.read(now))
    }
}

impl WorkerCounters {
    /// Those of a worker that keeps events, or does not.
    pub(crate) fn traced(trace: Option<Arc<TraceRing>>) -> Self {
        Self { trace, ..Self::default() }
    }

    /// The batches and turns whose events are recorded.
    pub(crate) fn sampling(&self) -> Sampling {
        self.trace.as_ref().map_or(Sampling::NONE, |ring| ring.sampling)
    }

    /// By the worker: what the client of a new lane is to note. `bytes`: of the slots that it reads.
    pub(crate) fn lane_to(&self, peer: usize, route: LaneRoute, bytes: usize) -> SentNotes {
        let trace = self.trace.as_ref().map(|ring| (peer as u32, Arc::clone(ring)));
        let notes = SentNotes::new(Arc::clone(&self.latencies[route as usize]), trace);
        let counters = Arc::clone(&notes.counters);
        self.with_lanes(|lanes| lanes.sent.push(Counted { peer, route, counters }));
        self.fibers.lane_bytes.add(bytes as u64);
        notes
    }

    /// By the worker: a new lane is served; returns the counters of its server.
    pub(crate) fn lane_from(
        &self,
        peer: usize,
        route: LaneRoute,
        bytes: usize,
        counters: Arc<ServedCounters>,
    ) {
        self.with_lanes(|lanes| lanes.served.push(Counted { peer, route, counters }));
        self.fibers.lane_bytes.add(bytes as u64);
    }

    /// By anybody, for a short time: a worker that makes a lane waits meanwhile.
    pub(crate) fn with_lanes<R>(&self, f: impl FnOnce(&mut CountedLanes) -> R) -> R {
        f(&mut self.lanes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// How long requests take that go one way.
    pub(crate) fn latency(&self, route: LaneRoute) -> &BucketCounts {
        &self.latencies[route as usize]
    }
}
