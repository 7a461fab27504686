//! The timers of one worker.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::task::Waker;
use std::time::{Duration, Instant};

/// Names a timer: its due time, and a number that distinguishes timers of the same moment, in order of registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Timer {
    due: Instant,
    number: u64,
}

/// Wakers by due time.
#[derive(Default)]
pub(crate) struct Timers {
    queue: RefCell<BTreeMap<Timer, Waker>>,
    registered: Cell<u64>,
}

impl Timers {
    /// Wakes `waker` at `due`. Cancel a timer that is no longer needed, so that timers that are due much later, or
    /// never, do not pile up.
    pub(crate) fn register(&self, due: Instant, waker: Waker) -> Timer {
        let number = self.registered.get();
        self.registered.set(number + 1);
        let timer = Timer { due, number };
        self.queue.borrow_mut().insert(timer, waker);
        timer
    }

    /// Undoes `register`; no matter if the timer has fired.
    pub(crate) fn cancel(&self, timer: Timer) {
        self.queue.borrow_mut().remove(&timer);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.borrow().is_empty()
    }

    /// Wakes all that are due. Returns whether there was one.
    pub(crate) fn fire(&self, now: Instant) -> bool {
        let mut fired = false;
        while let Some(waker) = self.take_due(now) {
            waker.wake();
            fired = true;
        }
        fired
    }

    fn take_due(&self, now: Instant) -> Option<Waker> {
        let mut queue = self.queue.borrow_mut();
        let first = queue.first_entry()?;
        (first.key().due <= now).then(|| first.remove())
    }

    /// Time from `now` to the next timer.
    pub(crate) fn next(&self, now: Instant) -> Option<Duration> {
        self.queue.borrow().first_key_value().map(|(timer, _)| timer.due.saturating_duration_since(now))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::worker::fibers::wake_count::WakeCount;
    use std::sync::Arc;

    #[test]
    fn a_cancelled_timer_wakes_nobody_and_leaves_nothing_behind() {
        let (timers, count, now) = (Timers::default(), Arc::new(WakeCount::default()), Instant::now());
        let cancelled = timers.register(now, Waker::from(Arc::clone(&count)));
        timers.register(now, Waker::from(Arc::clone(&count)));
        timers.cancel(cancelled);
        assert!(timers.fire(now));
        assert_eq!(count.wakes(), 1);
        assert!(timers.is_empty());
        timers.cancel(cancelled);
    }
}
