//! What a worker shows of itself, so that others see whether it makes progress.

use crate::lane::context::ServedView;
use crate::structures::static_ref::StaticRef;
use crate::sys::fibers::wait::is_in_std;
use crate::sys::threads::procfs::ThreadFiles;
use std::panic::Location;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// A cache line that only the worker writes, except for one flag, and that is read every few seconds.
#[repr(align(128))]
pub(crate) struct View {
    turns: AtomicU64,
    /// The processor that it last woke up on.
    processor: AtomicUsize,
    /// Fibers have run since the last look for unused memory.
    is_unswept: AtomicBool,
    /// Where the running fiber was spawned.
    running: StaticRef<Location<'static>>,
    /// Where it has made the call that it was last suspended in, if that is known.
    called: StaticRef<Location<'static>>,
    thread: OnceLock<ThreadFiles>,
    served: ServedView,
}

impl View {
    pub(crate) const fn new() -> Self {
        Self {
            turns: AtomicU64::new(0),
            processor: AtomicUsize::new(0),
            is_unswept: AtomicBool::new(false),
            running: StaticRef::none(),
            called: StaticRef::none(),
            thread: OnceLock::new(),
            served: ServedView::new(),
        }
    }

    /// Called by the worker, on its thread: shows the view for the length of a call.
    pub(crate) fn show_while<R>(&self, f: impl FnOnce() -> R) -> R {
        if let Some(thread) = ThreadFiles::here() {
            let _first = self.thread.set(thread);
        }
        self.served.show_while(f)
    }

    /// Called by the worker: its loop has made this many turns.
    #[inline(always)]
    pub(crate) fn note_turn(&self, turns: u64) {
        self.turns.store(turns, Ordering::Relaxed);
    }

    /// Called by the worker: it has slept, and woken up on this processor.
    pub(crate) fn note_processor(&self, processor: usize) {
        self.processor.store(processor, Ordering::Relaxed);
    }

    /// Called by the worker: which fiber runs from here on.
    #[inline(always)]
    pub(crate) fn note_running(&self, spawned_at: Option<&'static Location<'static>>) {
        self.called.set(None);
        self.running.set(spawned_at);
    }

    /// Called by the worker: the running fiber goes on behind its call at this place.
    #[inline(always)]
    pub(crate) fn note_call(&self, at: &'static Location<'static>) {
        self.called.set(Some(at));
    }

    /// Called by the worker: a look for unused memory may find some.
    #[inline(always)]
    pub(crate) fn note_unswept(&self) {
        // It publishes nothing else.
        self.is_unswept.store(true, Ordering::Relaxed);
    }

    /// Whether a look for unused memory may find some; if so, the caller is to ask for one.
    pub(crate) fn take_unswept(&self) -> bool {
        self.is_unswept.load(Ordering::Relaxed) && self.is_unswept.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// The processor that the worker last woke up on.
    pub(crate) fn processor(&self) -> usize {
        self.processor.load(Ordering::Relaxed)
    }

    pub(crate) fn thread(&self) -> Option<&ThreadFiles> {
        self.thread.get()
    }

    /// Whether a fiber of the worker runs.
    pub(crate) fn runs_a_fiber(&self) -> bool {
        self.running.get().is_some()
    }

    /// What the worker runs; `None` between two things.
    pub(crate) fn runs(&self) -> Option<String> {
        match (self.served.running(), self.running.get()) {
            (Some(operation), _) => Some(format!("the delegated closure {operation}")),
            (None, Some(place)) => {
                // Maybe of the fiber before or behind it, if the worker goes on meanwhile.
                let call = self.called.get().filter(|at| !is_in_std(at));
                let call = call.map(|at| format!(", since its call at {at}"));
                Some(format!("the fiber spawned at {place}{}", call.unwrap_or_default()))
            }
            (None, None) => None,
        }
    }

    /// What the worker runs.
    pub(crate) fn running(&self) -> String {
        self.runs().unwrap_or_else(|| "a callback or a destructor".to_owned())
    }
}
