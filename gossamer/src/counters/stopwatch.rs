//! How long something has gone on altogether, including a period that has not ended.

use crate::atomic::fixed::AtomicU64;
use crate::counters::Count;
use std::sync::atomic::Ordering;

/// Runs.
const RUNS: u64 = 1;

/// The sum of some times, in nanoseconds of one clock. One word, so that readers see a consistent state: twice the
/// sum while it is stopped; while it runs, twice the number to be added to the present time, plus one.
#[derive(Debug, Default)]
pub(crate) struct Stopwatch {
    word: Count,
    /// The most that any reader got. A reader may have read the clock before it was stopped, and the value must not
    /// decrease.
    told: AtomicU64,
}

impl Stopwatch {
    /// By its thread: it runs since `now`.
    pub(crate) fn start(&self, now: u64) {
        self.word.set((self.word.get() >> 1).wrapping_sub(now) << 1 | RUNS);
    }

    /// By its thread: it is stopped since `now`.
    pub(crate) fn stop(&self, now: u64) {
        self.word.set(Self::sum(self.word.get(), now) << 1);
    }

    /// Nanoseconds, as of `now`, which was read before. By anybody.
    pub(crate) fn read(&self, now: u64) -> u64 {
        let sum = Self::sum(self.word.get(), now);
        // Relaxed: it stands for itself.
        self.told.fetch_max(sum, Ordering::Relaxed).max(sum)
    }

    fn sum(word: u64, now: u64) -> u64 {
        // The shift is signed, which restores the sign; negative sums count as zero.
        let base = word.cast_signed() >> 1;
        let sum = if word & RUNS == 0 { base } else { base.wrapping_add(now.cast_signed()) };
        sum.max(0).cast_unsigned()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_adds_times_up_and_tells_of_the_one_that_goes_on() {
        let watch = Stopwatch::default();
        assert_eq!(watch.read(5), 0);
        watch.start(10);
        assert_eq!(watch.read(13), 3);
        watch.stop(20);
        assert_eq!(watch.read(50), 10);
        watch.start(60);
        assert_eq!(watch.read(61), 11);
        watch.stop(65);
        assert_eq!(watch.read(99), 15);
    }

    #[test]
    fn what_was_told_is_not_taken_back() {
        let watch = Stopwatch::default();
        watch.start(0);
        assert_eq!(watch.read(100), 100);
        watch.stop(99);
        assert_eq!(watch.read(200), 100);
    }
}
