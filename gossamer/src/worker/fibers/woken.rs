//! Workers that were woken, and wait for the processor of the one that has woken them.
//!
//! In a virtual machine, Linux takes processors that are halted for ones that the host uses otherwise
//! (`available_idle_cpu`), and wakes a thread on that of its waker. It runs there when that one sleeps, or when the
//! processors are balanced, which takes some milliseconds: longer than most parallel loops. So a worker that remains
//! busy looks for those that it has woken, and has them moved if they wait.

use crate::sys::threads::affinity;
use crate::worker::watch::view::View;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long it takes, mostly, until a thread runs that is woken on an idle processor.
const PATIENCE: Duration = Duration::from_micros(25);
/// The time between two questions to the kernel, which take 20 to 100 us each.
const PAUSE: Duration = Duration::from_micros(500);

/// The workers that one has woken.
pub(crate) struct Woken {
    workers: RefCell<Vec<WokenWorker>>,
    /// When it looks for them.
    due: Cell<Instant>,
    /// It does not ask the kernel before then.
    rested: Cell<Instant>,
}

struct WokenWorker {
    view: Arc<View>,
    /// The turn that it slept in.
    turn: u64,
}

impl Woken {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self { workers: RefCell::default(), due: Cell::new(now), rested: Cell::new(now) }
    }

    /// A worker of this process is woken now.
    pub(crate) fn note(&self, view: &Arc<View>) {
        let mut workers = self.workers.borrow_mut();
        if workers.is_empty() {
            self.due.set(self.rested.get().max(Instant::now() + PATIENCE));
        }
        workers.retain(|worker| !Arc::ptr_eq(&worker.view, view));
        workers.push(WokenWorker { view: Arc::clone(view), turn: view.turns() });
    }

    /// Called by the worker in each turn that has work for it.
    #[inline(always)]
    pub(crate) fn move_those_who_wait(&self) {
        if !self.workers.borrow().is_empty() {
            self.look();
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&self) {
        let now = Instant::now();
        if now < self.due.get() {
            return;
        }
        let (mut workers, here) = (self.workers.borrow_mut(), affinity::here());
        // One that runs may have woken up here, and wait for its next time slice.
        workers.retain(|worker| worker.view.turns() == worker.turn || worker.view.processor() == here);
        let Some(worker) = workers.pop() else { return };
        self.rested.set(now + PAUSE);
        // One in each turn. If it need not or cannot be moved, neither are the others.
        if !worker.view.thread().is_some_and(|thread| affinity::move_away(thread).unwrap_or(false)) {
            workers.clear();
        }
    }

    /// Called by the worker before it sleeps.
    pub(crate) fn forget(&self) {
        self.workers.borrow_mut().clear();
    }
}
