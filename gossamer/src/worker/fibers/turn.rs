//! How long a fiber may run without a call that suspends it.

use crate::counters::worker::WorkerCounters;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls of a fiber that need not suspend it, between two turns of others, at most.
const CALLS: u64 = 250;
/// What the calls of a turn, and what the fiber does between them, are to take at most: the number of calls follows from
/// how long the last ones took.
const TURN: Duration = Duration::from_micros(100);
/// Calls of full turns between two looks at the clock.
const UNTIMED: u64 = 4 * CALLS;

/// Calls that need not suspend their fiber until one does all the same.
pub(crate) struct TurnBudget {
    left: Cell<u64>,
    /// The number of calls of this turn.
    granted: Cell<u64>,
    /// The last look at the clock, and the calls of the turns between that and this turn.
    looked: Cell<Instant>,
    untimed: Cell<u64>,
    counters: Arc<WorkerCounters>,
}

impl TurnBudget {
    pub(super) fn new(counters: Arc<WorkerCounters>) -> Self {
        Self {
            left: Cell::new(0),
            granted: Cell::new(1),
            looked: Cell::new(Instant::now()),
            untimed: Cell::new(0),
            counters,
        }
    }

    /// Takes one call off. Returns whether there was one left.
    #[inline(always)]
    pub(super) fn spend(&self) -> bool {
        match self.left.get() {
            0 => false,
            left => {
                self.left.set(left - 1);
                true
            }
        }
    }

    /// Refills the budget, and takes off the call that found it empty.
    pub(super) fn begin(&self) {
        let last = self.granted.get();
        self.untimed.set(self.untimed.get() + last);
        if last < CALLS || self.untimed.get() >= UNTIMED {
            let now = Instant::now();
            let took = now.saturating_duration_since(self.looked.replace(now));
            self.granted.set(next(last, self.untimed.take(), took));
        }
        self.counters.fibers.calls_granted.add(self.granted.get() + 1);
        self.left.set(self.granted.get());
        self.show();
    }

    /// Publishes how many calls are left, for the counters.
    #[inline(always)]
    pub(crate) fn show(&self) {
        self.counters.fibers.calls_left.set(self.left.get());
    }

    /// A call that was or will be taken off is no request.
    #[inline(always)]
    pub(super) fn note_other(&self) {
        self.counters.fibers.other_calls.add(1);
    }
}

/// The calls of the next turn, if the last one had so many, and so many took so long: as many as fit, at most twice as
/// many, so that a fiber whose calls are slow gets few of them behind one whose calls are fast.
fn next(last: u64, calls: u64, took: Duration) -> u64 {
    let fit = u128::from(calls) * TURN.as_nanos() / took.as_nanos().max(1);
    u64::try_from(fit).unwrap_or(u64::MAX).min(2 * last).clamp(1, CALLS)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_as_many_calls_as_fit_and_at_most_twice_as_many_as_the_last_one() {
        let fast = Duration::from_nanos(10);
        assert_eq!([1, 2, 100, 200, 250].map(|last| next(last, last, fast)), [2, 4, 200, 250, 250]);
        assert_eq!(next(250, 1000, Duration::from_millis(1)), 100);
        assert_eq!([1, 250].map(|last| next(last, last, Duration::from_millis(5))), [1, 5]);
        assert_eq!([Duration::ZERO, Duration::MAX].map(|took| next(250, 1000, took)), [250, 1]);
    }
}
