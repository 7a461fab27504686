//! Latencies of one client worker, and of all of them.

use gossamer::NoRef;
use hdrhistogram::Histogram;
use std::time::Duration;

/// Latencies are kept to three digits, in nanoseconds up to a minute; longer ones count as a minute.
const LONGEST: u64 = 60_000_000_000;

/// How long requests took.
pub struct Latencies(Histogram<u64>);

/// In the form in which they travel: each latency that occurred, and how often.
#[derive(NoRef, Clone)]
pub struct Found(Vec<(u64, u64)>);

impl Latencies {
    pub fn new() -> Self {
        // The bounds are right.
        Self(Histogram::new_with_bounds(1, LONGEST, 3).unwrap_or_else(|error| unreachable!("{error}")))
    }

    #[inline]
    pub fn add(&mut self, latency: Duration) {
        self.0.saturating_record((latency.as_nanos() as u64).min(LONGEST));
    }

    pub fn add_several(&mut self, latency: Duration, count: u64) {
        self.0.saturating_record_n((latency.as_nanos() as u64).min(LONGEST), count);
    }

    pub fn add_found(&mut self, found: &Found) {
        for (latency, count) in &found.0 {
            self.0.saturating_record_n(*latency, *count);
        }
    }

    pub fn found(&self) -> Found {
        let found = self.0.iter_recorded();
        Found(found.map(|value| (value.value_iterated_to(), value.count_at_value())).collect())
    }

    #[cfg(test)]
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// In microseconds; `share` is at most 1. Nothing without latencies.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.value_at_quantile(share) as f64 / 1e3)
    }

    /// In microseconds.
    pub fn longest(&self) -> Option<f64> {
        (!self.0.is_empty()).then(|| self.0.max() as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_several_clients_have_found_is_put_together() {
        let mut all = Latencies::new();
        for client in 0..4 {
            let mut own = Latencies::new();
            (1..=250).for_each(|number| own.add(Duration::from_micros(client * 250 + number)));
            all.add_found(&own.found());
        }
        assert_eq!(all.count(), 1000);
        for (share, expected) in [(0.5, 500.0), (0.99, 990.0), (1.0, 1000.0)] {
            assert!((all.quantile(share).unwrap() / expected - 1.0).abs() < 0.002, "{share}");
        }
        assert_eq!((Latencies::new().quantile(0.5), Latencies::new().longest()), (None, None));
        let mut slow = Latencies::new();
        slow.add(Duration::from_secs(3600));
        assert!((slow.longest().unwrap() / 60e6 - 1.0).abs() < 0.002);
    }
}
