//! How long a fiber may go on that makes no call which suspends it.

use std::cell::Cell;

/// Calls of a fiber that need not suspend it, between two turns of others.
const CALLS: u32 = 250;

/// Calls that need not suspend their fiber until one does all the same.
#[derive(Default)]
pub(crate) struct TurnBudget(Cell<u32>);

impl TurnBudget {
    /// Takes one call off; whether there was one left.
    #[inline(always)]
    pub(super) fn spend(&self) -> bool {
        match self.0.get() {
            0 => false,
            left => {
                self.0.set(left - 1);
                true
            }
        }
    }

    pub(super) fn begin(&self) {
        self.0.set(CALLS);
    }
}
