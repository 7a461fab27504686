//! Large results: they are sent ahead of the requests that name them, as far as there is room, and independently of the
//! lane's backlog. A client that asks for them faster than they can be sent is not served meanwhile: so its fibers wait,
//! and the trustee keeps little more of them than `MOST_UNSENT`, unless fibers that it runs for the client end with them.
//!
//! - Z4: a client is held back only while results for it are unsent. These need no slot of any lane, only room in the
//!   fabric, and every node takes what the fabric brings, whether it serves or not. So two nodes that hold each other
//!   back do not wait for each other.

use crate::fabric::Fabric;
use crate::lane::encoded::{Apart, Packed};
use crate::lane::large::LargeValue;
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::wire::rows::Rows;
use crate::worker::nodes::answers::Outcome;
use crate::worker::{Worker, with_worker};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Bytes of results behind the one that is being sent from which on their client is not served.
const MOST_UNSENT: usize = 16 << 20;

/// The large results for one client.
#[derive(Default)]
pub(crate) struct LargeResults {
    /// With their tickets; the first one is being sent.
    unsent: RefCell<VecDeque<(u64, LargeValue)>>,
    /// Of those behind the first one: however large that is, it alone does not hold its client back.
    bytes: Cell<usize>,
}

impl LargeResults {
    pub(super) fn are_waiting(&self) -> bool {
        !self.unsent.borrow().is_empty()
    }

    fn push(&self, ticket: u64, value: LargeValue) {
        if self.are_waiting() {
            self.bytes.set(self.bytes.get() + value.bytes());
        }
        self.unsent.borrow_mut().push_back((ticket, value));
    }

    /// Sends the first one, as far as there is room. Returns its ticket if it has been sent as a whole.
    fn send_first(&self, fabric: &impl Fabric, ring: impl Fn()) -> Option<u64> {
        let mut unsent = self.unsent.borrow_mut();
        let (ticket, value) = unsent.front_mut()?;
        value.send(fabric, ring).ok()?;
        let ticket = *ticket;
        unsent.pop_front();
        let next = unsent.front().map_or(0, |(_, next)| next.bytes());
        self.bytes.set(self.bytes.get() - next);
        Some(ticket)
    }
}

/// What the maker of a ticket does with an answer.
fn arrived(_: &mut Root, (maker, number, outcome): (u32, u64, Outcome)) {
    with_worker(|here| here.nodes.answers.arrive((maker as usize, number), outcome));
}

impl Worker {
    /// Answers a worker of any node under a ticket that it made, or that this one made for it.
    pub(crate) fn answer(&self, client: usize, ticket: (u32, u64), outcome: Outcome) {
        if client == self.index {
            return self.nodes.answers.arrive((ticket.0 as usize, ticket.1), outcome);
        }
        let (delegated, arguments) =
            (Delegated::travelling::<Root, _>(arrived), (ticket.0, ticket.1, outcome));
        if self.is_neighbour(client) {
            return self.tell(client, delegated, arguments);
        }
        match Packed::new(arguments) {
            Ok(argument) if argument.is_large() => self.keep_result(client, argument.send()),
            Ok(argument) => self.push_to_root(client, delegated, argument),
            Err(_) => unreachable!("what this crate sends leaves its node"),
        }
    }

    #[cold]
    fn keep_result(&self, client: usize, rows: Rows) {
        let (lane, ticket) = (self.lane_to(client), self.new_ticket());
        let value = LargeValue::new(ticket, rows);
        lane.client.counters().note_large(value.bytes());
        lane.results.push(ticket, value);
        self.nodes.results.set(self.nodes.results.get() + 1);
    }

    /// Sends large results at the beginning of every other turn. Who comes first may take all the room of a connection,
    /// also of one that carries other lanes: in the other turns fibers with large arguments come first, and then what
    /// waits in backlogs. Returns whether this is a turn of theirs.
    #[inline(always)]
    pub(in crate::worker) fn send_results_first(&self) -> bool {
        self.nodes.results.get() > 0 && {
            let first = !self.nodes.results_were_first.get();
            self.nodes.results_were_first.set(first);
            if first {
                self.send_results_of_lanes();
            }
            first
        }
    }

    /// Sends large results, as far as there is room, at the end of a turn, at whose beginning they were sent or not.
    /// Returns whether one was sent.
    #[inline(always)]
    pub(in crate::worker) fn send_results(&self, were_first: bool) -> bool {
        self.nodes.results.get() > 0 && {
            if !were_first {
                self.publish();
            }
            self.send_results_of_lanes()
        }
    }

    #[cold]
    #[inline(never)]
    fn send_results_of_lanes(&self) -> bool {
        // By index: a lane may be connected meanwhile.
        let (lanes, first) = (self.lanes.connected().len(), self.nodes.first_lane.get());
        let (mut sent, mut is_first) = (false, true);
        for place in (first..first + lanes).map(|place| place % lanes) {
            let client = { self.lanes.connected()[place] };
            let lane = self.lane_to(client);
            if !lane.results.are_waiting() {
                continue;
            }
            let mut next = place;
            while let Some(ticket) =
                lane.results.send_first(lane.client.fabric(), || self.shared.ring(client))
            {
                self.nodes.results.set(self.nodes.results.get() - 1);
                self.push_to_root(client, Delegated::travelling::<Root, _>(arrived), Apart(ticket));
                // At once, so that its client takes it while the next one is sent.
                self.after_push(client, lane.client.publish());
                (sent, next) = (true, place + 1);
                // One each turn even without a slot for its request (Z4), but no more, to stay in the cache.
                if !lane.client.has_free_slot() {
                    break;
                }
            }
            // The first one may take all the room of a connection that carries other lanes, too. So once it has sent a
            // value, it is another one's turn.
            if std::mem::take(&mut is_first) {
                self.nodes.first_lane.set(next);
            }
        }
        sent
    }

    /// Whether a client of another node is not to be served, since too much of what it asked for is unsent.
    #[inline(always)]
    pub(in crate::worker) fn owes_much_to(&self, client: usize) -> bool {
        self.nodes.results.get() > 0
            && self.is_connected_to(client)
            && self.lane_to(client).results.bytes.get() > MOST_UNSENT
    }

    /// Whether this turn has made so many results that no more requests of other nodes are to be served in it.
    #[inline(always)]
    pub(in crate::worker) fn owes_much_now(&self) -> bool {
        self.nodes.exchange.late_bytes() > MOST_UNSENT
    }
}
