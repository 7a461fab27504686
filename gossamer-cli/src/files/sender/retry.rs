//! When a sender that has lost its receiver tries again: after growing pauses, and only this often without progress.

use crate::exit::{Failure, LOST, UNREACHABLE};
use crate::files::arguments::SendArguments;
use crate::files::interruption::cause;
use crate::files::reporter::Reporter;
use serde_json::json;
use std::time::Duration;

/// The first pause, and the longest one; each is twice as long as the one before.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);
/// How long a try may take to reach the receiver.
const TRY: Duration = Duration::from_secs(10);

/// The tries of one transfer.
#[derive(Debug)]
pub struct Retries {
    most: u32,
    /// How many tries there were since anything was moved.
    tried: u32,
    moved: u64,
    was_reached: bool,
}

impl Retries {
    /// So many, at most, one after the other.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self { most, tried: 0, moved: 0, was_reached: false }
    }

    /// How long to wait before the next try, or nothing if there is to be none after this failure. The user is told.
    pub fn next(&mut self, failure: &Failure, reporter: &Reporter) -> Option<Duration> {
        // A receiver that was never reached may be somewhere else, or have another code.
        self.was_reached |= failure.status == LOST;
        let may_come = failure.status == LOST || failure.status == UNREACHABLE && self.was_reached;
        if reporter.bytes_moved() > self.moved {
            (self.moved, self.tried) = (reporter.bytes_moved(), 0);
        }
        if !may_come || self.tried >= self.most {
            return None;
        }
        let pause = pause(self.tried);
        self.tried += 1;
        let (tried, most, why, seconds) = (self.tried, self.most, cause(&failure.message), pause.as_secs());
        reporter.tell(
            &json!({ "event": "retry", "why": why, "seconds": seconds, "try": tried, "of": most }),
            &format!("gossamer: {why}; goes on in {seconds} s (try {tried} of {most})"),
        );
        Some(pause)
    }
}

fn pause(tried: u32) -> Duration {
    SHORTEST.saturating_mul(2_u32.saturating_pow(tried)).min(LONGEST)
}

/// How many seconds a receiver has to wait for this sender after losing it.
#[must_use]
pub fn seconds_of_patience(arguments: &SendArguments) -> u32 {
    let patience = patience(arguments.retry.unwrap_or(0)).min(arguments.timeout.unwrap_or(Duration::MAX));
    u32::try_from(patience.as_secs()).unwrap_or(u32::MAX)
}

/// How long this many tries take at most.
fn patience(most: u32) -> Duration {
    (0..most).map(|tried| pause(tried) + TRY).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_and_are_bounded() {
        let pauses: Vec<u64> = (0..8).map(|tried| pause(tried).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert_eq!(pause(u32::MAX), LONGEST);
        assert_eq!((patience(0), patience(2).as_secs()), (Duration::ZERO, 23));
    }

    #[test]
    fn only_a_receiver_that_was_reached_is_tried_again_and_progress_counts() {
        let (lost, unreachable) = (Failure::new(LOST, "lost"), Failure::new(UNREACHABLE, "refused"));
        let mut reporter = Reporter::new(false, true);
        let mut retries = Retries::new(2);
        assert_eq!(retries.next(&unreachable, &reporter), None);
        assert_eq!(retries.next(&lost, &reporter), Some(SHORTEST));
        assert_eq!(retries.next(&unreachable, &reporter), Some(2 * SHORTEST));
        assert_eq!(retries.next(&unreachable, &reporter), None);
        reporter.moved(1);
        assert_eq!(retries.next(&lost, &reporter), Some(SHORTEST));
        assert_eq!(retries.next(&Failure::new(crate::exit::OUTPUT, "full"), &reporter), None);
    }
}
