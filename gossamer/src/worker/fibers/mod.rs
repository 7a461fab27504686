//! The fibers of a worker: which are runnable, what they wait for, and how the worker sleeps when none can run.

pub(crate) mod cancel;
pub(crate) mod idleness;
pub(crate) mod readiness;
pub(crate) mod scheduler;
pub(crate) mod sleep;
pub(crate) mod sources;
mod suspend;
mod sweep;
pub(crate) mod timer;
mod turn;
pub(crate) mod turn_lengths;
mod waiters;
pub(crate) mod wake;
#[cfg(all(test, not(loom)))]
mod wake_count;
mod wake_policy;
mod woken;

pub(crate) use suspend::Cancelled;

use crate::counters::worker::WorkerCounters;
use crate::worker::watch::view::View;
use scheduler::Scheduler;
use sleep::Poller;
use std::sync::Arc;
use timer::Timers;
use turn::TurnBudget;
use woken::Woken;

/// The fibers of one worker, and what they wait for.
pub(crate) struct Fibers {
    pub(crate) scheduler: Scheduler,
    pub(crate) timers: Timers,
    pub(super) woken: Woken,
    poller: Poller,
    turn: TurnBudget,
}

impl Fibers {
    pub(super) fn new(
        stack_bytes: usize,
        worker: u32,
        view: Arc<View>,
        counters: &Arc<WorkerCounters>,
        poll: mio::Poll,
    ) -> Self {
        Self {
            scheduler: Scheduler::new(stack_bytes, worker, view, Arc::clone(counters)),
            timers: Timers::default(),
            woken: Woken::new(),
            poller: Poller::new(poll),
            turn: TurnBudget::new(Arc::clone(counters)),
        }
    }

    /// Whether blocking calls unwind every fiber, since `main` has returned.
    pub(crate) fn are_cancelled(&self) -> bool {
        self.scheduler.cancellations.cancels_all()
    }

    /// Whether a blocking call has to check whether to unwind its fiber.
    #[inline(always)]
    pub(super) fn interrupt(&self) -> bool {
        self.scheduler.cancellations.interrupt()
    }

    /// From now on blocking calls unwind their fiber, including those that wait now. Once is enough: no fiber begins
    /// such a wait later.
    pub(super) fn cancel(&self) {
        self.scheduler.cancellations.cancel_all();
        self.scheduler.wake_cancellable();
    }
}
