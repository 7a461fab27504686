//! What a phase takes, of all workers together: its time, what goes between them, and how much of the time they have work.

use gossamer::metrics::{RackMetrics, RequestRoute, WorkerMetrics};
use gossamer::rack;
use std::fmt;
use std::time::Instant;

/// The cost of a phase.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    pub seconds: f64,
    /// Requests from one worker to another.
    requests: u64,
    /// The batches in which these were sent.
    messages: u64,
    /// Bytes between workers: requests with what belongs to them, and answers.
    bytes: u64,
    /// The share of the workers' time in which they had something to do.
    busy: f64,
}

/// Runs a phase, and counts meanwhile. Asking all nodes what they have counted is not part of the time.
pub fn measured<R>(phase: impl FnOnce() -> R) -> (R, Cost) {
    let before = rack::metrics();
    let begun = Instant::now();
    let result = phase();
    let seconds = begun.elapsed().as_secs_f64();
    (result, Cost::new(seconds, &(&rack::metrics() - &before)))
}

impl Cost {
    fn new(seconds: f64, counted: &RackMetrics) -> Self {
        let WorkerMetrics { uptime, busy, requests, .. } = counted.total().total();
        let to_others = || requests.iter().filter(|some| some.route != RequestRoute::Here);
        Self {
            seconds,
            requests: to_others().map(|some| some.sent).sum(),
            messages: to_others().flat_map(|some| some.batches).sum(),
            bytes: to_others().map(|some| some.sent_bytes).sum(),
            busy: busy.as_secs_f64() / uptime.as_secs_f64(),
        }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seconds, requests, messages, bytes, busy } = self;
        let (megabytes, percent) = (*bytes as f64 / 1e6, 100.0 * busy);
        write!(
            f,
            "{seconds:.6} s, {requests} requests in {messages} messages, {megabytes:.3} MB, workers {percent:.0} % busy"
        )
    }
}
