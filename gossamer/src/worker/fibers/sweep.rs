//! Returning memory that fibers no longer use to the kernel.
//!
//! A check happens every few seconds while there may be something to find: the thread that watches the progress of
//! workers (`watch/stall.rs`) asks for it, so a sleeping worker is woken for it twice after its last work, and then
//! no more.

use crate::sys::fibers::fiber::Fiber;
use crate::worker::Worker;
use crate::worker::fibers::scheduler::Scheduler;
use crate::worker::mailbox::inbox::Message;
use std::ops::Range;

/// Idle fibers that a worker keeps.
const KEPT: usize = 16;
/// Fibers that are checked between two turns: each may cost a system call.
const AT_ONCE: usize = 256;

impl Scheduler {
    /// Looks at the idle fibers: those that nobody has needed since the last look go. Returns whether the next may find something.
    fn sweep_idle(&self) -> bool {
        let unneeded: Vec<_> = {
            let mut idle = self.idle.borrow_mut();
            let count = self.fewest_idle.get().saturating_sub(KEPT).min(AT_ONCE);
            idle.drain(..count).collect()
        };
        unneeded.into_iter().for_each(|fiber| self.release(fiber));
        let left = self.idle.borrow().len();
        self.fewest_idle.set(left);
        left > KEPT
    }

    /// Looks at some of the fibers in a job. Returns whether the next look may find something, and whether these were the last.
    fn sweep_parked(&self, some: Range<usize>) -> (bool, bool) {
        let fibers = self.fibers.borrow();
        let is_end = some.end >= fibers.len();
        let looked_at = fibers.iter().skip(some.start).take(some.len()).flatten();
        // All of them are looked at.
        let unfinished = looked_at.filter(|fiber| !fiber.is_idle() && Fiber::age(fiber)).count();
        (unfinished > 0, is_end)
    }
}

impl Worker {
    /// Looks for memory that is not used any more.
    pub(in crate::worker) fn sweep(&self) {
        if self.fibers.scheduler.sweep_idle() {
            self.shared.mailbox(self.index).view.note_unswept();
        }
        self.sweep_from(0);
    }

    fn sweep_from(&self, first: usize) {
        let next = first + AT_ONCE;
        let (again, is_end) = self.fibers.scheduler.sweep_parked(first..next);
        let mailbox = self.shared.mailbox(self.index);
        if again {
            mailbox.view.note_unswept();
        }
        if !is_end {
            // Behind the work of a turn. Refused only when the runtime has ended.
            let _ended = mailbox.send(Message::Act(Box::new(move |here: &Self| here.sweep_from(next))));
        }
    }
}
