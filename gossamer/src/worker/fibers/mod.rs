//! The fibers of a worker: which can go on, what they wait for, and how the worker sleeps when none can.

pub(crate) mod readiness;
pub(crate) mod scheduler;
pub(crate) mod sleep;
mod suspend;
pub(crate) mod timer;
mod turn;
pub(crate) mod wake;
#[cfg(all(test, not(loom)))]
mod wake_count;

pub(crate) use suspend::Cancelled;

use crate::worker::watch::view::View;
use scheduler::Scheduler;
use sleep::Poller;
use std::cell::Cell;
use std::sync::Arc;
use timer::Timers;
use turn::TurnBudget;

/// The fibers of one worker, and what they wait for.
pub(crate) struct Fibers {
    pub(crate) scheduler: Scheduler,
    pub(crate) timers: Timers,
    poller: Poller,
    turn: TurnBudget,
    /// Set once `main` has returned: blocking calls unwind their fiber.
    cancelling: Cell<bool>,
}

impl Fibers {
    pub(super) fn new(stack_bytes: usize, worker: u32, view: Arc<View>, poll: mio::Poll) -> Self {
        Self {
            scheduler: Scheduler::new(stack_bytes, worker, view),
            timers: Timers::default(),
            poller: Poller::new(poll),
            turn: TurnBudget::default(),
            cancelling: Cell::new(false),
        }
    }

    #[inline(always)]
    pub(super) fn is_cancelling(&self) -> bool {
        self.cancelling.get()
    }

    /// From now on blocking calls unwind their fiber, and so do those that wait now. Once is enough: none begins such a wait later.
    pub(super) fn cancel(&self) {
        self.cancelling.set(true);
        self.scheduler.wake_cancellable();
    }
}
