//! What clients of both kinds share: the servers that they ask, when they begin and end, and what they find out.

use crate::latency::Found;
use gossamer::{NoRef, Trust};
use std::time::{Duration, Instant};

/// What one client worker does.
#[derive(NoRef, Clone)]
pub struct Task {
    pub servers: Vec<Trust<u64>>,
    /// The number of this client, among all.
    pub number: usize,
    pub warm_up: Duration,
    pub duration: Duration,
}

/// When a client begins, and the time that counts.
#[derive(Clone, Copy)]
pub struct Span {
    pub begins: Instant,
    pub counts_from: Instant,
    pub ends: Instant,
}

/// The results of a client worker.
#[derive(NoRef)]
pub struct Outcome {
    pub found: Found,
    /// Answers that came within the time that counts, whenever their requests were sent or due.
    pub answered: u64,
    /// Requests of an open loop that were due, and not sent before the end: they are among the latencies too.
    pub unsent: u64,
}

impl Span {
    /// Whether what happens at this moment counts.
    pub fn counts(&self, moment: Instant) -> bool {
        (self.counts_from..=self.ends).contains(&moment)
    }
}

impl Task {
    pub fn span(&self) -> Span {
        let begins = Instant::now();
        let counts_from = begins + self.warm_up;
        Span { begins, counts_from, ends: counts_from + self.duration }
    }

    /// The results of one fiber.
    pub fn random(&self, fiber: usize) -> fastrand::Rng {
        fastrand::Rng::with_seed((self.number as u64) << 32 | fiber as u64)
    }

    pub fn any_server(&self, random: &mut fastrand::Rng) -> &Trust<u64> {
        &self.servers[random.usize(..self.servers.len())]
    }
}

/// The request: it adds to a number, and looks at what it has captured.
pub fn serve<const BYTES: usize>(sum: &mut u64, captured: [u8; BYTES]) -> u64 {
    let before = *sum;
    *sum += 1 + captured.first().map_or(0, |byte| u64::from(*byte) & 1);
    before
}
