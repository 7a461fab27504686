//! How long a fiber may go on that makes no call which suspends it.

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

    /// Takes one call off; whether there was one left.
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

    /// Grants calls anew, and the one that found none left.
    pub(super) fn begin(&self) {
        self.counters.fibers.calls_granted.add(CALLS + 1);
        self.left.set(CALLS);
        self.show();
    }

    /// Shows how many calls are left, to those who count.
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
