//! How fast two ends are: the time of a small write and its answer, and the bytes per second of large writes.

use crate::fabric::verbs::check::end::{CheckEnd, LARGE};
use std::io;
use std::time::{Duration, Instant};

/// For how long round trips are made, and large writes.
const ROUND_TRIPS: Duration = Duration::from_millis(400);
const RATE: Duration = Duration::from_millis(300);
/// How many round trips at most are made.
const MOST: usize = 1 << 20;
/// How long an end waits for anything before it gives up.
const PATIENCE: Duration = Duration::from_secs(5);
/// Says that no more round trips follow.
const END: u64 = u64::MAX;

/// Small writes that were answered by small writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrips {
    /// How many.
    pub count: usize,
    /// Their median time.
    pub median: Duration,
    /// The time that 99 of 100 did not exceed.
    pub percentile_99: Duration,
}

impl RoundTrips {
    /// From at least one time.
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        let at = |hundredths: usize| times[(times.len() * hundredths / 100).min(times.len() - 1)];
        Self { count: times.len(), median: at(50), percentile_99: at(99) }
    }
}

impl CheckEnd {
    /// Sends numbers, each after the one before has come back.
    ///
    /// # Errors
    /// The other end does not answer, or a device has failed.
    pub(super) fn round_trips(&mut self) -> io::Result<RoundTrips> {
        let (start, mut times) = (Instant::now(), Vec::new());
        while times.is_empty() || (start.elapsed() < ROUND_TRIPS && times.len() < MOST) {
            let number = times.len() as u64 + 1;
            let begin = Instant::now();
            self.tell(number, begin + PATIENCE)?;
            self.await_that(begin + PATIENCE, |end| Ok((end.told() == number).then_some(())))?;
            times.push(begin.elapsed());
        }
        let due = Instant::now() + PATIENCE;
        self.tell(END, due)?;
        self.finish(due)?;
        Ok(RoundTrips::of(times))
    }

    /// Sends back each number that arrives, until the other end has no more. Returns how many there were.
    ///
    /// # Errors
    /// The other end falls silent, or a device has failed.
    pub(super) fn answer(&mut self) -> io::Result<u64> {
        let until = Instant::now() + ROUND_TRIPS + PATIENCE;
        let mut answered = 0;
        loop {
            let number = answered + 1;
            let due = until.min(Instant::now() + PATIENCE);
            let come = self
                .await_that(due, |end| Ok(Some(end.told()).filter(|told| *told == number || *told == END)))?;
            if come == END {
                break;
            }
            self.tell(number, due)?;
            answered = number;
        }
        self.finish(until)?;
        Ok(answered)
    }

    /// Bytes per second of large writes to the other end.
    ///
    /// # Errors
    /// A write has failed, or none completes.
    pub(super) fn rate(&mut self) -> io::Result<u64> {
        let (start, mut writes) = (Instant::now(), 0_u64);
        while writes == 0 || start.elapsed() < RATE {
            self.write_large(Instant::now() + PATIENCE)?;
            writes += 1;
        }
        self.finish(Instant::now() + PATIENCE)?;
        let bytes = writes as f64 * LARGE as f64;
        Ok((bytes / start.elapsed().as_secs_f64()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_and_the_99th_percentile_are_those_of_all_times() {
        let times: Vec<_> = (1..=200).rev().map(Duration::from_micros).collect();
        let found = RoundTrips::of(times);
        assert_eq!(found.count, 200);
        assert_eq!(found.median, Duration::from_micros(101));
        assert_eq!(found.percentile_99, Duration::from_micros(199));
        let one = RoundTrips::of(vec![Duration::from_micros(3)]);
        assert_eq!((one.median, one.percentile_99), (Duration::from_micros(3), Duration::from_micros(3)));
    }
}
