//! How long a fiber may run without a call that suspends it.

use crate::counters::worker::WorkerCounters;
use std::cell::Cell;
use std::sync::Arc;

/// Calls of a fiber that need not suspend it, between two turns of others.
const CALLS: u64 = 250;

/// Calls that need not suspend their fiber until one does all the same.
pub(crate) struct TurnBudget {
    left: Cell<u64>,
    counters: Arc<WorkerCounters>,
}

impl TurnBudget {
    pub(super) fn new(counters: Arc<WorkerCounters>) -> Self {
        Self { left: Cell::new(0), counters }
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
        self.counters.fibers.calls_granted.add(CALLS + 1);
        self.left.set(CALLS);
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
