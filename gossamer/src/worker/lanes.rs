//! A worker's ends of its lanes: made at the first request, pushed to, polled.

use crate::counters::trace::{self, EventKind, Sampling, TraceEvent};
use crate::counters::worker::LaneRoute;
use crate::fabric::link::Link;
use crate::fabric::{Endpoint, Lane, SlotMemory};
use crate::lane::client::Client;
use crate::lane::context;
use crate::lane::error::{DelegationError, Reason};
use crate::lane::operation::{Delegated, Operation};
use crate::lane::property::Root;
use crate::lane::server::Server;
use crate::sys::fibers::fiber::Fiber;
use crate::worker::backlog::Restraint;
use crate::worker::mailbox::inbox::Message;
use crate::worker::nodes::large::Senders;
use crate::worker::nodes::results::LargeResults;
use crate::worker::{Local, Worker};
use std::cell::{OnceCell, Ref, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

/// This worker's end of the lane to one trustee.
pub(crate) struct Outbound {
    pub(crate) client: Client<Link>,
    /// The trustee is on another node.
    remote: bool,
    /// Fibers that send large arguments.
    pub(super) senders: Senders,
    /// Large results for the worker at its other end.
    pub(super) results: LargeResults,
    /// Fibers that wait for room on the lane, in order of arrival.
    pub(super) waiting: RefCell<VecDeque<Rc<Fiber>>>,
}

impl Outbound {
    fn new(client: Client<Link>, remote: bool) -> Self {
        let (senders, results, waiting) = Default::default();
        Self { client, remote, senders, results, waiting }
    }
}

/// This worker's end of the lane from one client.
pub(crate) struct Inbound {
    client: usize,
    /// It is on another node.
    remote: bool,
    server: Server<Link>,
}

/// This worker's ends of all its lanes.
pub(crate) struct Lanes {
    /// By the index of the trustee; connected at the first request.
    outbound: Box<[OnceCell<Outbound>]>,
    /// The connected ones, in the order in which they were connected.
    connected: RefCell<Vec<usize>>,
    inbound: RefCell<Vec<Inbound>>,
    pub(super) restraint: Restraint,
    /// The batches whose events are recorded.
    traced: Sampling,
}

impl Lanes {
    /// To this many trustees.
    pub(super) fn new(workers: usize, traced: Sampling) -> Self {
        let outbound = (0..workers).map(|_| OnceCell::new()).collect();
        Self {
            outbound,
            connected: RefCell::default(),
            inbound: RefCell::default(),
            restraint: Restraint::default(),
            traced,
        }
    }

    /// The number of trustees.
    #[inline(always)]
    pub(super) fn trustees(&self) -> usize {
        self.outbound.len()
    }

    /// Those that this worker has sent requests to.
    pub(super) fn connected(&self) -> Ref<'_, Vec<usize>> {
        self.connected.borrow()
    }
}

impl Worker {
    /// The lane to a trustee of this runtime (also this worker's own).
    #[inline(always)]
    pub(crate) fn lane_to(&self, trustee: usize) -> &Outbound {
        self.lanes.outbound[trustee].get_or_init(|| self.connect(trustee))
    }

    #[cold]
    fn connect(&self, trustee: usize) -> Outbound {
        self.lanes.connected.borrow_mut().push(trustee);
        if !self.shared.is_here(trustee) {
            let endpoint = self.endpoint_to(trustee);
            let responses = endpoint.register(Lane::responses(self.index, trustee));
            let fabric = endpoint.connect(Lane::requests(self.index, trustee));
            let notes = self.counters.lane_to(trustee, fabric.route(), responses.bytes());
            return Outbound::new(Client::noting(fabric, responses, notes), true);
        }
        let (requests, responses) = (SlotMemory::new(), SlotMemory::new());
        let notes = self.counters.lane_to(trustee, self.route_inside(trustee), responses.bytes());
        let client = Client::noting(Link::Process(Arc::clone(&requests)), Arc::clone(&responses), notes);
        // Refused only once the runtime has ended; the requests are then abandoned, with an error.
        let _ended =
            self.shared.mailbox(trustee).send(Message::Connect { from: self.index, requests, responses });
        Outbound::new(client, false)
    }

    /// The route to a worker of this process.
    fn route_inside(&self, worker: usize) -> LaneRoute {
        if worker == self.index { LaneRoute::Here } else { LaneRoute::Process }
    }

    pub(crate) fn is_connected_to(&self, trustee: usize) -> bool {
        self.lanes.outbound[trustee].get().is_some()
    }

    pub(crate) fn accept(&self, client: usize, requests: Local, responses: Link) {
        let remote = !self.shared.is_here(client);
        let (route, bytes) =
            (if remote { responses.route() } else { self.route_inside(client) }, requests.bytes());
        let server = if remote { Server::of_another_process } else { Server::new }(requests, responses);
        self.counters.lane_from(client, route, bytes, Arc::clone(server.counters()));
        self.lanes.inbound.borrow_mut().push(Inbound { client, remote, server });
    }

    /// Accepts the lane of a worker of another node.
    pub(super) fn accept_from_node(&self, client: usize, requests: Local) {
        let responses = self.endpoint_to(client).connect(Lane::responses(client, self.index));
        self.accept(client, requests, responses);
    }

    /// Sends an operation on the trustee itself, whose answer nobody waits for. Never waits.
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
            self.shared.ring(trustee);
        }
    }

    /// Counts a request of a fiber to a property of this worker that failed within the call.
    pub(crate) fn note_failure(&self, reason: &Reason) {
        if matches!(reason, Reason::Panicked { .. }) {
            self.counters.fibers.failed.add(1);
        }
    }

    /// Serves the batches that have landed, from each lane at most as many as it has slots; fewer while the worker is held
    /// back.
    #[inline]
    pub(crate) fn serve(&self) -> bool {
        let restraint = &self.lanes.restraint;
        let most = if restraint.is_long() { self.batches_in_spite_of_backlog() } else { u32::MAX };
        if most == 0 {
            return false;
        }
        let (mut busy, was_long) = (false, restraint.is_long());
        for lane in self.lanes.inbound.borrow_mut().iter_mut() {
            let mut served = 0;
            while served < lane.server.slots().min(most) && self.serve_next(lane) {
                served += 1;
                // What it served has sent or returned too much.
                if restraint.is_long() != was_long || self.owes_much_now() {
                    break;
                }
            }
            if served > 0 {
                busy = true;
                self.shared.ring(lane.client);
            }
        }
        if busy {
            context::note_all_served();
        }
        busy
    }

    #[inline(always)]
    fn serve_next(&self, lane: &mut Inbound) -> bool {
        if self.lanes.traced.picks(lane.server.next_sequence()) {
            self.serve_traced(lane)
        } else {
            self.serve_batch(lane)
        }
    }

    /// Serves a batch, if one waits, and records an event.
    #[cold]
    #[inline(never)]
    fn serve_traced(&self, lane: &mut Inbound) -> bool {
        let (sequence, waiting) = (lane.server.next_sequence(), lane.server.waiting());
        let Some(count) = waiting else { return false };
        let start = trace::now();
        let served = self.serve_batch(lane);
        if let Some(ring) = self.counters.trace.as_ref().filter(|_| served) {
            let closure = context::last_operation().map(Operation::namer);
            let (peer, number) = (lane.client as u32, sequence.into());
            ring.push(TraceEvent {
                peer,
                count,
                number,
                closure,
                ..TraceEvent::since(EventKind::Served, start)
            });
        }
        served
    }

    #[inline(always)]
    fn serve_batch(&self, lane: &mut Inbound) -> bool {
        if lane.remote {
            self.has_requests_of(lane) && {
                // If a request is there, so are its arguments (W7).
                if self.nodes.connections.have_arrivals() {
                    self.hear_nodes();
                }
                self.serve_node(lane.client, &mut lane.server)
            }
        } else {
            lane.server.serve(&self.properties, self.index as u32)
        }
    }

    #[inline(always)]
    fn take_batch(&self, trustee: usize, lane: &Outbound) -> bool {
        if lane.remote { self.take_from_node(trustee, &lane.client) } else { lane.client.take_responses() }
    }

    /// Runs the completions of answered requests, and lets fibers that waited for room try again.
    #[inline]
    pub(crate) fn take_responses(&self) -> bool {
        let mut taken = false;
        let mut next = 0;
        // By index: a callback may connect another lane.
        while let Some(trustee) = { self.lanes.connected.borrow().get(next).copied() } {
            let lane = self.lane_to(trustee);
            // Bounded, since callbacks that send again could keep the worker here for ever.
            for _ in 0..lane.client.slots() {
                if !self.take_batch(trustee, lane) {
                    break;
                }
                taken = true;
                self.wake_waiting(lane);
            }
            next += 1;
        }
        taken
    }

    /// A slot became free: up to a batch of waiting fibers may find room now.
    #[inline]
    fn wake_waiting(&self, lane: &Outbound) {
        for fiber in lane.waiting.borrow().iter().take(lane.client.room()).filter(|fiber| fiber.is_parked()) {
            self.fibers.scheduler.unpark(Rc::clone(fiber));
        }
    }

    /// Publishes what was gathered.
    #[inline]
    pub(crate) fn publish(&self) {
        for &trustee in self.lanes.connected.borrow().iter() {
            let published = self.lane_to(trustee).client.publish();
            self.after_push(trustee, published);
        }
    }

    /// Abandons all unanswered requests: their waiters are told, and no more are sent.
    pub(super) fn close_lanes(&self) {
        for lane in self.lanes.outbound.iter().filter_map(OnceCell::get) {
            lane.client.close();
        }
    }

    /// Whether requests to a trustee wait for a slot, beyond the batch being gathered.
    pub(super) fn has_backlog(&self, trustee: usize) -> bool {
        self.lane_to(trustee).client.backlog() > 0
    }

    /// Requests that this worker has served.
    pub(super) fn served(&self) -> u64 {
        let lanes = self.lanes.inbound.borrow();
        lanes.iter().fold(0, |sum, lane| sum.wrapping_add(lane.server.counters().requests.get()))
    }

    /// Requests of this worker that are not answered yet.
    pub(super) fn outstanding(&self) -> usize {
        self.lanes.connected.borrow().iter().map(|&trustee| self.lane_to(trustee).client.outstanding()).sum()
    }

    /// Whether a request of this worker is not answered yet.
    pub(crate) fn has_outstanding(&self) -> bool {
        self.outstanding() > 0 || self.has_answers() || !self.held.is_empty()
    }

    /// Whether a request of this worker to its own trustee is not answered yet.
    #[inline(always)]
    pub(crate) fn has_outstanding_here(&self) -> bool {
        self.lanes.outbound[self.index].get().is_some_and(|lane| lane.client.outstanding() > 0)
    }

    /// Whether requests have landed on a lane of this worker, whose client is not held back (Z4).
    pub(crate) fn has_requests(&self) -> bool {
        self.lanes.inbound.borrow().iter().any(|lane| self.has_requests_of(lane))
    }

    #[inline(always)]
    fn has_requests_of(&self, lane: &Inbound) -> bool {
        lane.server.has_requests()
            && !(lane.remote && (self.owes_much_to(lane.client) || self.owes_much_now()))
    }

    /// Whether answers have landed on a lane of this worker.
    pub(crate) fn has_responses(&self) -> bool {
        let connected = self.lanes.connected.borrow();
        connected.iter().any(|&trustee| self.lane_to(trustee).client.has_responses())
    }
}
