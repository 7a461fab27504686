//! Arguments that are sent ahead of their request (`lane/large`): a fiber waits until there is room for them; other
//! code leaves them in the backlog, with their request.

use crate::fabric::Fabric;
use crate::lane::context::{self, Context};
use crate::lane::large::Progress;
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::wire::rows::Rows;
use crate::worker::Worker;
use crate::worker::lanes::Outbound;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Fibers that send large arguments on one lane. The first one is sending now.
#[derive(Default)]
pub(crate) struct Senders(RefCell<VecDeque<Rc<Fiber>>>);

impl Senders {
    fn is_first(&self, fiber: &Rc<Fiber>) -> bool {
        self.0.borrow().front().is_some_and(|first| Rc::ptr_eq(first, fiber))
    }

    /// The fiber to wake when there is room.
    fn waiting(&self) -> Option<Rc<Fiber>> {
        self.0.borrow().front().filter(|first| first.is_parked()).cloned()
    }
}

/// Takes the first sender off the queue of its lane, however it ends.
struct SendingTurn<'a> {
    senders: &'a Senders,
    count: &'a Cell<usize>,
}

impl Drop for SendingTurn<'_> {
    fn drop(&mut self) {
        self.senders.0.borrow_mut().pop_front();
        self.count.set(self.count.get() - 1);
    }
}

impl Worker {
    /// Whether the caller may wait until its arguments are sent. Otherwise it leaves them with their request.
    pub(crate) fn may_wait_for_room(&self) -> bool {
        context::current() == Context::Fiber && !std::thread::panicking()
    }

    /// Sends the running fiber's arguments, and returns their ticket. Fibers send one after another on each lane, so
    /// that the first arguments arrive soon.
    #[cold]
    #[inline(never)]
    pub(crate) fn send_large(&self, trustee: usize, mut rows: Rows) -> u64 {
        #[cfg(feature = "tracing")]
        let _left = crate::spans::leave();
        let (lane, fiber, ticket) = (self.lane_to(trustee), self.running(), self.new_ticket());
        lane.client.counters().note_large(rows.bytes_of_all());
        let wait = Wait::in_call("room for large arguments on the lane to a trustee");
        let _noted = Fiber::note_wait(wait.on(WaitsOn::Worker(trustee as u32)));
        lane.senders.0.borrow_mut().push_back(Rc::clone(&fiber));
        self.nodes.senders.set(self.nodes.senders.get() + 1);
        while !lane.senders.is_first(&fiber) {
            Fiber::park(false);
        }
        let _turn = SendingTurn { senders: &lane.senders, count: &self.nodes.senders };
        let mut progress = Progress::default();
        while progress.send(ticket, &mut rows, lane.client.fabric(), || self.shared.ring(trustee)).is_err() {
            Fiber::park(false);
        }
        ticket
    }

    /// Wakes the fibers whose arguments now have room.
    #[inline(always)]
    pub(in crate::worker) fn wake_senders(&self) {
        if self.nodes.senders.get() > 0 {
            self.wake_senders_of_lanes();
        }
    }

    #[cold]
    fn wake_senders_of_lanes(&self) {
        for &trustee in self.lanes.connected().iter() {
            let lane = self.lane_to(trustee);
            if let Some(fiber) = lane.senders.waiting().filter(|_| lane.client.fabric().has_room()) {
                self.fibers.scheduler.unpark(fiber);
            }
        }
    }

    /// Whether there is room for large values that wait.
    pub(in crate::worker) fn can_send_large(&self) -> bool {
        let can_send = |lane: &Outbound| {
            lane.client.can_send_arguments()
                || (lane.senders.waiting().is_some() || lane.results.are_waiting())
                    && lane.client.fabric().has_room()
        };
        self.lanes.connected().iter().any(|&trustee| can_send(self.lane_to(trustee)))
    }
}
