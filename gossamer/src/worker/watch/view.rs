//! What a worker shows of itself, so that others see whether it goes on.

use crate::lane::context::ServedView;
use crate::structures::static_ref::StaticRef;
use crate::sys::threads::procfs::ThreadFiles;
use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A cache line that the worker alone writes, except one flag, and that is read every few seconds.
#[repr(align(128))]
pub(crate) struct View {
    turns: AtomicU64,
    /// Fibers have run since memory was looked for that is not used any more.
    is_unswept: AtomicBool,
    /// Where the fiber was spawned that runs.
    running: StaticRef<Location<'static>>,
    thread: OnceLock<ThreadFiles>,
    served: ServedView,
}

impl View {
    pub(crate) const fn new() -> Self {
        Self {
            turns: AtomicU64::new(0),
            is_unswept: AtomicBool::new(false),
            running: StaticRef::none(),
            thread: OnceLock::new(),
            served: ServedView::new(),
        }
    }

    /// By the worker, on its thread: shows it for the length of a call.
    pub(crate) fn show_while<R>(&self, f: impl FnOnce() -> R) -> R {
        if let Some(thread) = ThreadFiles::here() {
            let _first = self.thread.set(thread);
        }
        self.served.show_while(f)
    }

    /// By the worker: its loop has come round so often.
    #[inline(always)]
    pub(crate) fn note_turn(&self, turns: u64) {
        self.turns.store(turns, Ordering::Relaxed);
    }

    /// By the worker: which fiber runs from here on.
    #[inline(always)]
    pub(crate) fn note_running(&self, spawned_at: Option<&'static Location<'static>>) {
        self.running.set(spawned_at);
    }

    /// By the worker: a look for memory that is not used may find some.
    #[inline(always)]
    pub(crate) fn note_unswept(&self) {
        // It stands for itself.
        self.is_unswept.store(true, Ordering::Relaxed);
    }

    /// Whether a look for memory that is not used may find some; if so, it is to be asked for.
    pub(crate) fn take_unswept(&self) -> bool {
        self.is_unswept.load(Ordering::Relaxed) && self.is_unswept.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    pub(crate) fn thread(&self) -> Option<&ThreadFiles> {
        self.thread.get()
    }

    /// Whether a fiber of the worker runs.
    pub(crate) fn runs_a_fiber(&self) -> bool {
        self.running.get().is_some()
    }

    /// What the worker runs; none between two things.
    pub(crate) fn runs(&self) -> Option<String> {
        match (self.served.running(), self.running.get()) {
            (Some(operation), _) => Some(format!("the delegated closure {operation}")),
            (None, Some(place)) => Some(format!("the fiber spawned at {place}")),
            (None, None) => None,
        }
    }

    /// What the worker runs.
    pub(crate) fn running(&self) -> String {
        self.runs().unwrap_or_else(|| "a callback or a destructor".to_owned())
    }
}
