//! How long a fiber may go on that makes no call which suspends it.

use crate::counters::worker::WorkerCounters;
use std::sync::Arc;

/// Calls of a fiber that need not suspend it, between two turns of others.
const CALLS: u64 = 250;

/// Calls that need not suspend their fiber until one does all the same.
pub(crate) struct TurnBudget(Arc<WorkerCounters>);

impl TurnBudget {
    pub(super) fn new(counters: Arc<WorkerCounters>) -> Self {
        Self(counters)
    }

    /// Takes one call off; whether there was one left.
    #[inline(always)]
    pub(super) fn spend(&self) -> bool {
        let calls_left = &self.0.fibers.calls_left;
        match calls_left.get() {
            0 => false,
            left => {
                calls_left.set(left - 1);
                true
            }
        }
    }

    /// Grants calls anew, and the one that found none left.
    pub(super) fn begin(&self) {
        self.0.fibers.calls_granted.add(CALLS + 1);
        self.0.fibers.calls_left.set(CALLS);
    }

    /// A call that was or will be taken off is no request.
    #[inline(always)]
    pub(super) fn note_other(&self) {
        self.0.fibers.other_calls.add(1);
    }
}
