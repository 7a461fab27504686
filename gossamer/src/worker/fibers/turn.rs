//! How long a fiber may run without a call that suspends it.

use crate::counters::worker::WorkerCounters;
use crate::sys::fibers::fiber::Fiber;
use std::cell::Cell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Calls of a fiber that need not suspend it, between two turns of others, at most.
const CALLS: u64 = 250;
/// What these calls, and what the fiber does between them, are to take at most.
const TURN: Duration = Duration::from_micros(100);
/// Calls between two looks at the clock, at most: so many calls of a fiber may take long before it is known.
const LOOK: u64 = CALLS / 3;

/// Calls that need not suspend their fiber until one does all the same.
///
/// Only the time that a fiber runs without a pause counts: a worker may be idle between two calls, or run others. The
/// calls until the next look are a counter of the worker's, so that the watcher can ask for that look at the next call.
pub(crate) struct TurnBudget {
    /// Calls between the last look and the next one.
    granted: Cell<u64>,
    slice: Cell<TimeSlice>,
    counters: Arc<WorkerCounters>,
}

/// What a fiber does without a pause.
#[derive(Clone, Copy)]
struct TimeSlice {
    /// The turn of the worker, and its job.
    name: (u64, u64),
    /// The first look at it, before which it may have had `LOOK` calls.
    since: Instant,
    /// Calls since then.
    calls: u64,
}

impl TurnBudget {
    pub(super) fn new(counters: Arc<WorkerCounters>) -> Self {
        // No job of a fiber has this number.
        let none = TimeSlice { name: (0, u64::MAX), since: Instant::now(), calls: 0 };
        Self { granted: Cell::new(LOOK), slice: Cell::new(none), counters }
    }

    /// Takes one call off. Returns whether there was one left, and nobody asks for a look.
    #[inline(always)]
    pub(super) fn spend(&self) -> bool {
        self.counters.fibers.calls_left.spend()
    }

    /// Looks how long the running fiber has run, and takes off the call that found no other left. Returns whether others
    /// have to run now.
    pub(super) fn look(&self) -> bool {
        let (name, now) = (Fiber::running_job(), Instant::now());
        let left = &self.counters.fibers.calls_left;
        let (unused, is_hurried) = (left.get(), left.is_hurried());
        self.counters.fibers.calls_granted.subtract(unused);
        // That call, and those that it had before it.
        let calls = self.granted.get() - unused + 1;
        let mut slice = self.slice.get();
        let is_over = if slice.name == name {
            slice.calls += calls;
            let took = now.saturating_duration_since(slice.since);
            self.grant(calls_until_the_end(slice.calls, took).min(2 * calls));
            slice.calls + LOOK >= CALLS || took >= TURN
        } else {
            slice = TimeSlice { name, since: now, calls: 0 };
            // Others may have made calls that took long; if it is hurried, it has made them itself.
            self.grant(if is_hurried { 0 } else { 2 * calls });
            false
        };
        self.slice.set(slice);
        is_over || is_hurried
    }

    /// Others have run, and the fiber that found its turn over goes on. While calls take long, the next one looks again.
    pub(super) fn begin(&self) {
        if self.granted.get() == LOOK {
            return;
        }
        self.slice.set(TimeSlice { name: Fiber::running_job(), since: Instant::now(), calls: 0 });
    }

    fn grant(&self, calls: u64) {
        let calls = calls.min(LOOK);
        self.counters.fibers.calls_granted.add(calls + 1);
        self.counters.fibers.calls_left.set(calls);
        self.granted.set(calls);
    }

    /// A call that was or will be taken off is no request.
    #[inline(always)]
    pub(super) fn note_other(&self) {
        self.counters.fibers.other_calls.add(1);
    }
}

/// How many more calls are over before the turn is, if so many have taken so long; if it is over already, how many the
/// next one may have.
fn calls_until_the_end(calls: u64, took: Duration) -> u64 {
    let fit = u128::from(calls) * TURN.as_nanos() / took.as_nanos().max(1);
    let fit = u64::try_from(fit).unwrap_or(u64::MAX);
    if took >= TURN { fit } else { fit - calls }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn as_many_calls_are_made_unseen_as_fit_into_a_turn() {
        assert_eq!(calls_until_the_end(50, Duration::from_micros(50)), 50);
        assert_eq!(calls_until_the_end(1, Duration::from_micros(10)), 9);
        assert_eq!(calls_until_the_end(50, Duration::from_millis(1)), 5);
        assert_eq!(calls_until_the_end(1, Duration::from_millis(5)), 0);
        let extremes = [Duration::ZERO, Duration::MAX];
        assert_eq!(extremes.map(|took| calls_until_the_end(50, took).min(LOOK)), [LOOK, 0]);
    }
}
