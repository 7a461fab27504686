//! A worker's ends of its lanes: made at the first request, pushed to, polled.

use crate::fabric::{SLOTS, SlotMemory};
use crate::lane::client::Client;
use crate::lane::context::{self, Context};
use crate::lane::error::DelegationError;
use crate::lane::operation::{Delegated, Operation};
use crate::lane::property::Root;
use crate::lane::server::Server;
use crate::sys::fiber::Fiber;
use crate::wire::batch::BODY_WORDS;
use crate::worker::inbox::Message;
use crate::worker::{Local, Worker};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// This worker's end of the lane to one trustee.
pub(crate) struct Outbound {
    pub(crate) client: Client<Local>,
    /// Fibers that wait for room on the lane, in the order in which they came.
    waiting: RefCell<VecDeque<Rc<Fiber>>>,
}

/// This worker's end of the lane from one client.
pub(crate) struct Inbound {
    client: usize,
    server: Server<Local>,
}

impl Worker {
    /// The lane to a trustee of this runtime (also this worker's own).
    #[inline(always)]
    pub(crate) fn lane_to(&self, trustee: usize) -> &Outbound {
        self.outbound[trustee].get_or_init(|| self.connect(trustee))
    }

    #[cold]
    fn connect(&self, trustee: usize) -> Outbound {
        let (requests, responses) = (SlotMemory::new(), SlotMemory::new());
        let client = Client::new(Arc::clone(&requests), Arc::clone(&responses));
        // Refused only once the runtime has ended; then the requests are abandoned, and say so.
        let _ended =
            self.shared.posts[trustee].send(Message::Connect { from: self.index, requests, responses });
        self.connected.borrow_mut().push(trustee);
        Outbound { client, waiting: RefCell::default() }
    }

    pub(crate) fn is_connected_to(&self, trustee: usize) -> bool {
        self.outbound[trustee].get().is_some()
    }

    pub(crate) fn accept(&self, client: usize, requests: Local, responses: Local) {
        self.inbound.borrow_mut().push(Inbound { client, server: Server::new(requests, responses) });
    }

    /// Makes room on a lane whose gathered batch is full. A fiber waits for a free slot; other code cannot, and
    /// has the batch queued.
    ///
    /// # Panics
    /// If too much is queued already. If the runtime is ending, the fiber is unwound.
    #[cold]
    #[inline(never)]
    pub(crate) fn make_room(&self, trustee: usize, operation: &Operation) {
        let lane = self.lane_to(trustee);
        if context::current() == Context::Fiber {
            self.unwind_if_cancelled();
            self.wait_for_room(lane, operation);
        } else if !lane.client.has_free_slot() && lane.client.backlog() >= self.shared.config.backlog {
            self.too_many_waiting();
        }
        // While this fiber waited another may have emptied the batch.
        if !lane.client.fits(operation) {
            self.after_push(trustee, lane.client.make_room());
        }
    }

    /// Suspends the running fiber until there is room. First come, first served: a fiber that sends all the time would
    /// take every slot before the others are resumed.
    fn wait_for_room(&self, lane: &Outbound, operation: &Operation) {
        let has_room = || lane.client.has_free_slot() || lane.client.fits(operation);
        if std::thread::panicking() {
            // It works in place meanwhile, so nobody who waits is resumed before it anyway.
            return self.wait_until(has_room);
        }
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
        // There may be room for more, and no answer to come that would tell them.
        if let Some(next) = waiting.front().filter(|next| next.is_parked()) {
            self.scheduler.unpark(Rc::clone(next));
        }
    }

    #[cold]
    fn too_many_waiting(&self) -> ! {
        panic!(
            "{} requests of worker {} to one trustee wait for room, sent by delegated closures or callbacks, which \
             cannot wait themselves: send from a fiber, which can, or send less, or raise Config::backlog",
            self.shared.config.backlog, self.index
        )
    }

    /// Sends an operation on the trustee itself that nobody waits for. Never waits.
    pub(crate) fn tell<C: Send + 'static>(
        &self,
        trustee: usize,
        delegated: Delegated<Root, C, ()>,
        arguments: C,
    ) {
        let published = self.lane_to(trustee).client.push_to_root(
            delegated,
            arguments,
            |outcome: Result<(), DelegationError>| {
                if let Err(error) = outcome {
                    eprintln!("gossamer: {error}");
                }
            },
        );
        self.after_push(trustee, published);
    }

    /// Wakes the trustee if a batch was published.
    #[inline(always)]
    pub(crate) fn after_push(&self, trustee: usize, published: bool) {
        if published {
            self.shared.posts[trustee].ring();
        }
    }

    /// Serves the batches that have landed, of each lane as many as it has slots.
    #[inline]
    pub(crate) fn serve(&self) -> bool {
        let mut busy = false;
        for lane in self.inbound.borrow_mut().iter_mut() {
            let mut served = 0;
            while served < SLOTS && lane.server.serve(&self.properties, self.index as u32) {
                served += 1;
            }
            if served > 0 {
                busy = true;
                self.shared.posts[lane.client].ring();
            }
        }
        busy
    }

    /// Runs the completions of what was answered, and lets fibers that waited for room try again.
    #[inline]
    pub(crate) fn take_responses(&self) -> bool {
        let mut taken = false;
        let mut next = 0;
        // By index: a callback may connect another lane.
        while let Some(trustee) = { self.connected.borrow().get(next).copied() } {
            let lane = self.lane_to(trustee);
            // Not as long as there are some: callbacks that send again would keep the worker here for ever.
            for _ in 0..SLOTS {
                if !lane.client.take_responses() {
                    break;
                }
                taken = true;
                self.wake_waiting(lane);
            }
            next += 1;
        }
        taken
    }

    /// One slot became free: as many fibers as a batch has requests may find room now.
    #[inline]
    fn wake_waiting(&self, lane: &Outbound) {
        for fiber in lane.waiting.borrow().iter().take(BODY_WORDS).filter(|fiber| fiber.is_parked()) {
            self.scheduler.unpark(Rc::clone(fiber));
        }
    }

    /// Publishes what was gathered.
    #[inline]
    pub(crate) fn publish(&self) {
        for &trustee in self.connected.borrow().iter() {
            let published = self.lane_to(trustee).client.publish();
            self.after_push(trustee, published);
        }
    }

    /// Whether a request of this worker is not answered yet.
    pub(crate) fn has_outstanding(&self) -> bool {
        self.connected.borrow().iter().any(|&trustee| self.lane_to(trustee).client.outstanding() > 0)
    }

    /// Whether a request of this worker to its own trustee is not answered yet.
    #[inline(always)]
    pub(crate) fn has_outstanding_here(&self) -> bool {
        self.outbound[self.index].get().is_some_and(|lane| lane.client.outstanding() > 0)
    }

    /// Whether something has landed on a lane of this worker.
    pub(crate) fn has_landed(&self) -> bool {
        let connected = self.connected.borrow();
        self.inbound.borrow().iter().any(|lane| lane.server.has_requests())
            || connected.iter().any(|&trustee| self.lane_to(trustee).client.has_responses())
    }
}
