//! Room on a lane whose gathered batch is full: a fiber waits for a slot, other code queues the batch.

use crate::lane::context::{self, Context};
use crate::lane::operation::Operation;
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::worker::Worker;
use crate::worker::lanes::Outbound;
use std::rc::Rc;

impl Worker {
    /// Makes room on a lane whose gathered batch is full. A fiber waits for a free slot; for other code, which cannot
    /// wait, the batch is queued (`backlog.rs`).
    ///
    /// # Panics
    /// If the program runs away. If the runtime is ending, the fiber is unwound.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_room(&self, trustee: usize, operation: &Operation) {
        self.make_room_for(trustee, &|lane| lane.client.fits(operation));
    }

    /// Like `make_room`, until `fits` returns true.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_room_for(&self, trustee: usize, fits: &dyn Fn(&Outbound) -> bool) {
        let lane = self.lane_to(trustee);
        if context::current() == Context::Fiber {
            self.unwind_if_cancelled();
            let on = WaitsOn::Worker(trustee as u32);
            let _noted = Fiber::note_wait(Wait::in_call("room on the lane to a trustee").on(on));
            self.wait_for_room(lane, fits);
        } else if !lane.client.has_free_slot() {
            self.require_backlog(trustee);
        }
        // While this fiber waited, another one may have emptied the batch.
        if !fits(lane) {
            self.after_push(trustee, lane.client.make_room());
        }
    }

    /// Suspends the running fiber until there is room. First come, first served: a fiber that sends all the time would
    /// take every slot before the others are resumed.
    fn wait_for_room(&self, lane: &Outbound, fits: &dyn Fn(&Outbound) -> bool) {
        let has_room = || lane.client.has_free_slot() || fits(lane);
        if std::thread::panicking() {
            // It does the worker's other work meanwhile, so no waiter is resumed before it anyway.
            return self.wait_until(has_room);
        }
        #[cfg(feature = "tracing")]
        let _left = crate::spans::leave();
        if lane.waiting.borrow().is_empty() && has_room() {
            return;
        }
        let fiber = self.running();
        lane.waiting.borrow_mut().push_back(Rc::clone(&fiber));
        loop {
            Fiber::park(false);
            if has_room() {
                break;
            }
        }
        let mut waiting = lane.waiting.borrow_mut();
        if let Some(place) = waiting.iter().position(|other| Rc::ptr_eq(other, &fiber)) {
            waiting.remove(place);
        }
        // There may be room for more, and no further answer to notify them.
        if let Some(next) = waiting.front().filter(|next| next.is_parked()) {
            self.fibers.scheduler.unpark(Rc::clone(next));
        }
    }
}
