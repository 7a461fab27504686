//! Fibers that wait for room on a lane. They are served in the order in which they came: a fiber that sends all the time
//! would take every slot before the others are resumed.
//!
//! Only as many are woken as there is room for. A resume is most of what a request costs, so waking all of them for one
//! free slot costs more than the requests that it takes. How many find room is estimated from the batch that was full
//! when the last one began to wait. If that was too many, the rest wait again, at their places; if it was too few, the
//! last one that has found room wakes the next.

use crate::sys::fibers::fiber::Fiber;
use crate::worker::Worker;
use crate::worker::lanes::Outbound;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// The fibers that wait for room on one lane.
#[derive(Default)]
pub(super) struct RoomQueue {
    line: RefCell<WaitingLine<Rc<Fiber>>>,
    /// Requests of the batch that was full when the last one began to wait.
    batch: Cell<usize>,
}

/// Those who wait, in order of arrival.
struct WaitingLine<T> {
    waiting: VecDeque<T>,
    /// So many at the front were called, and have not looked yet.
    called: usize,
}

impl<T> Default for WaitingLine<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), called: 0 }
    }
}

impl<T: Clone> WaitingLine<T> {
    /// Those to call now, if `room` of those who wait are to be called in all.
    fn call(&mut self, room: usize) -> Vec<T> {
        let upto = room.min(self.waiting.len());
        let next = self.waiting.range(self.called.min(upto)..upto).cloned().collect();
        self.called = self.called.max(upto);
        next
    }

    /// One that was called has found no room. It keeps its place, and has to be called again.
    fn stay(&mut self, is: impl Fn(&T) -> bool) {
        if let Some(place) = self.waiting.iter().position(is) {
            self.called = self.called.min(place);
        }
    }

    /// One has found room.
    fn leave(&mut self, is: impl Fn(&T) -> bool) {
        if let Some(place) = self.waiting.iter().position(is) {
            self.waiting.remove(place);
            self.called -= usize::from(place < self.called);
        }
    }
}

impl Worker {
    /// Suspends the running fiber until there is room.
    pub(super) fn wait_for_room(&self, lane: &Outbound, fits: impl Fn(&Outbound) -> bool) {
        let has_room = || lane.client.has_free_slot() || fits(lane);
        if std::thread::panicking() {
            // It does the worker's other work meanwhile, so no waiter is resumed before it anyway.
            return self.wait_until(has_room);
        }
        #[cfg(feature = "tracing")]
        let _left = crate::spans::leave();
        let RoomQueue { line, batch } = &lane.room;
        if line.borrow().waiting.is_empty() && has_room() {
            return;
        }
        let fiber = self.running();
        let is_this = |other: &Rc<Fiber>| Rc::ptr_eq(other, &fiber);
        batch.set(lane.client.gathered());
        line.borrow_mut().waiting.push_back(Rc::clone(&fiber));
        loop {
            Fiber::park(false);
            if has_room() {
                break;
            }
            line.borrow_mut().stay(is_this);
        }
        line.borrow_mut().leave(is_this);
        if line.borrow().called == 0 {
            // There may be room for more, and no further answer to notify them.
            self.call(lane);
        }
    }

    /// A slot became free: those that find room now are woken.
    #[inline]
    pub(super) fn wake_waiting(&self, lane: &Outbound) {
        if !lane.room.line.borrow().waiting.is_empty() {
            self.call(lane);
        }
    }

    /// Wakes as many as there is room for, and at least one: the estimate may be wrong.
    #[cold]
    fn call(&self, lane: &Outbound) {
        let room = lane.client.room(lane.room.batch.get()).max(1);
        let next = lane.room.line.borrow_mut().call(room);
        for fiber in next.into_iter().filter(|fiber| fiber.is_parked()) {
            self.fibers.scheduler.unpark(fiber);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_are_called_as_there_is_room_for_and_each_once() {
        let mut line = WaitingLine { waiting: (0..10).collect(), called: 0 };
        assert_eq!(line.call(3), [0, 1, 2]);
        assert_eq!(line.call(3), [], "they have not looked yet");
        assert_eq!(line.call(5), [3, 4]);
        line.leave(|other| *other == 0);
        assert_eq!(line.call(5), [5], "one has taken its room, and there is as much again");
        assert_eq!(line.call(100), [6, 7, 8, 9]);
    }

    #[test]
    fn one_that_finds_no_room_is_called_again_before_those_behind_it() {
        let mut line = WaitingLine { waiting: (0..5).collect(), called: 0 };
        assert_eq!(line.call(2), [0, 1]);
        line.leave(|other| *other == 0);
        line.stay(|other| *other == 1);
        assert_eq!(line.call(1), [1]);
        // Woken for another reason, before it was called.
        line.stay(|other| *other == 4);
        assert_eq!(line.call(4), [2, 3, 4]);
        line.leave(|other| *other == 4);
        assert_eq!(line.called, 3);
    }
}
