//! How long single operations take.

use std::sync::OnceLock;
use std::time::Instant;

/// Times of single operations, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// The median.
    pub p50: f64,
    /// What one in a hundred took at least.
    pub p99: f64,
}

/// Of this process: a process measures one contender.
static FOUND: OnceLock<Latency> = OnceLock::new();

impl Latency {
    /// What the stopwatch of this process found, if there was one.
    #[must_use]
    pub fn found() -> Option<Latency> {
        FOUND.get().copied()
    }
}

/// Operations of which one is timed: reading the clock takes a tenth of the shortest of them.
const EVERY: u32 = 4;
/// Times that are kept.
const ROOM: usize = 1 << 20;

/// Times some of the operations of one client.
#[derive(Debug)]
pub struct Stopwatch {
    times: Vec<u32>,
    number: u32,
}

impl Default for Stopwatch {
    fn default() -> Self {
        Stopwatch { times: Vec::with_capacity(ROOM), number: 0 }
    }
}

impl Stopwatch {
    /// Does an operation.
    #[inline(always)]
    pub fn time<R>(&mut self, operation: impl FnOnce() -> R) -> R {
        self.number = self.number.wrapping_add(1);
        if !self.number.is_multiple_of(EVERY) || self.times.len() == ROOM {
            return operation();
        }
        let start = Instant::now();
        let result = operation();
        self.times.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
        result
    }

    /// Does an operation that is awaited.
    #[cfg(feature = "rpc")]
    pub async fn time_async<R>(&mut self, operation: impl Future<Output = R>) -> R {
        let start = Instant::now();
        let result = operation.await;
        self.times.push(u32::try_from(start.elapsed().as_nanos()).unwrap_or(u32::MAX));
        result
    }

    /// Says what was found, without the first fifth, during which the contender warmed up.
    pub fn finish(mut self) {
        let times = self.times.split_off(self.times.len() / 5);
        let _ = FOUND.set(percentiles(times));
    }
}

fn percentiles(mut times: Vec<u32>) -> Latency {
    times.sort_unstable();
    let at = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        times.get(index).map_or(f64::NAN, |&time| f64::from(time))
    };
    Latency { p50: at(0.5), p99: at(0.99) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_hundred_takes_at_least_the_99th_percentile() {
        assert_eq!(percentiles((1..=1000).rev().collect()), Latency { p50: 501.0, p99: 991.0 });
        assert!(percentiles(Vec::new()).p50.is_nan());
    }
}
