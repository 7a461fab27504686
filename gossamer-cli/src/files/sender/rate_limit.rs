//! A limit of bytes per second.

use std::thread;
use std::time::{Duration, Instant};

/// Lets this many bytes a second pass.
#[derive(Debug)]
pub struct RateLimit {
    rate: u64,
    /// When the next bytes may go.
    next: Instant,
}

impl RateLimit {
    /// Limits to this many bytes per second.
    #[must_use]
    pub fn new(rate: u64) -> Self {
        Self { rate, next: Instant::now() }
    }

    /// Counts bytes that go, and waits until the next ones may.
    pub fn spend(&mut self, bytes: usize) {
        let now = Instant::now();
        // Unused rate is lost after this time: later bytes do not go faster because of it.
        let least = now.checked_sub(Duration::from_millis(200)).unwrap_or(now);
        self.next = self.next.max(least) + Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        thread::sleep(self.next.saturating_duration_since(now));
    }
}
