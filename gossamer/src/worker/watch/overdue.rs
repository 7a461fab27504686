//! Reports that something takes long: after some seconds, and again each time the duration has doubled.

use std::time::{Duration, Instant};

/// How long anything may take before it is reported.
const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) struct Overdue {
    since: Instant,
    next: Duration,
}

impl Overdue {
    /// Something begins.
    pub(crate) fn new() -> Self {
        Self { since: Instant::now(), next: PATIENCE }
    }

    /// How long it has lasted, if it is time to report it.
    pub(crate) fn is_due(&mut self) -> Option<Duration> {
        let lasted = self.since.elapsed();
        (lasted >= self.next).then(|| {
            self.next = 2 * lasted;
            lasted
        })
    }
}
