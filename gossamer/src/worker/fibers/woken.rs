//! Workers that were woken, and wait for the processor of the one that has woken them.
//!
//! In a virtual machine, Linux takes processors that are halted for ones that the host uses otherwise
//! (`available_idle_cpu`), and wakes a thread on that of its waker. It runs there when that one sleeps, or when the
//! processors are balanced, which takes some milliseconds: longer than most parallel loops. So a worker that remains
//! busy has those that it has woken moved if they do not run.

use crate::sys::threads::affinity;
use crate::worker::watch::view::View;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long it takes, and some more, until a thread runs that is woken on an idle processor. With half of it, a
/// server's workers took processors from its clients that were idle between two requests.
const PATIENCE: Duration = Duration::from_micros(50);

/// The workers that one has woken, and that it has not seen running since.
#[derive(Default)]
pub(crate) struct Woken(RefCell<Vec<WokenWorker>>);

struct WokenWorker {
    view: Arc<View>,
    /// The turn that it slept in.
    turn: u64,
    /// When it is late, and how long it has then waited since it was woken, or since the last look.
    late: Instant,
    patience: Duration,
}

impl Woken {
    /// A worker of this process was just woken.
    pub(crate) fn note(&self, view: &Arc<View>) {
        let mut woken = self.0.borrow_mut();
        woken.retain(|worker| !Arc::ptr_eq(&worker.view, view));
        let (late, patience) = (Instant::now() + PATIENCE, PATIENCE);
        woken.push(WokenWorker { view: Arc::clone(view), turn: view.turns(), late, patience });
    }

    /// Called by the worker in each turn that has work for it.
    #[inline(always)]
    pub(crate) fn move_those_who_wait(&self) {
        if !self.0.borrow().is_empty() {
            self.look();
        }
    }

    #[cold]
    #[inline(never)]
    fn look(&self) {
        let now = Instant::now();
        self.0.borrow_mut().retain_mut(|worker| {
            let waits = worker.view.turns() == worker.turn;
            if waits && now >= worker.late {
                // The longer others keep all processors, the more seldom it looks for an idle one.
                worker.patience *= 2;
                worker.late = now + worker.patience;
                if let Some(thread) = worker.view.thread() {
                    // Where that is not allowed, the worker is late.
                    let _refused = affinity::move_away(thread.id);
                }
            }
            waits
        });
    }

    /// Called by the worker before it sleeps.
    pub(crate) fn forget(&self) {
        self.0.borrow_mut().clear();
    }
}
