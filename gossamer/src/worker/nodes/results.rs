//! Large results: they are sent ahead of the requests that name them, as far as there is room, and independently of the
//! lane's backlog. A client that asks for them faster than they can be sent is not served meanwhile: so its fibers wait,
//! and the trustee need not keep more of them than `MOST_UNSENT`.
//!
//! - Z4: a client is held back only while results for it are unsent. These need no slot of any lane, only room in the
//!   fabric, and every node takes what the fabric brings, whether it serves or not. So two nodes that hold each other
//!   back do not wait for each other.

use crate::lane::encoded::{Apart, Packed};
use crate::lane::large::LargeValue;
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::wire::rows::Rows;
use crate::worker::nodes::answers::Outcome;
use crate::worker::{Worker, with_worker};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// Bytes of unsent results from which on their client is not served.
const MOST_UNSENT: usize = 16 << 20;

/// The large results for one client.
#[derive(Default)]
pub(crate) struct LargeResults {
    /// With their tickets; the first one is being sent.
    unsent: RefCell<VecDeque<(u64, LargeValue)>>,
    bytes: Cell<usize>,
}

impl LargeResults {
    pub(super) fn are_waiting(&self) -> bool {
        !self.unsent.borrow().is_empty()
    }

    fn push(&self, ticket: u64, value: LargeValue) {
        self.bytes.set(self.bytes.get() + value.bytes());
        self.unsent.borrow_mut().push_back((ticket, value));
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

    /// Sends large results, as far as there is room. Returns whether one was sent.
    #[inline(always)]
    pub(in crate::worker) fn send_results(&self) -> bool {
        self.nodes.results.get() > 0 && self.send_results_of_lanes()
    }

    /// Like `send_results`, before the fibers that send large arguments: every other turn, since who comes first may take
    /// all the room of a connection, also of one that carries other lanes.
    #[inline(always)]
    pub(in crate::worker) fn send_results_first(&self) -> bool {
        self.nodes.results.get() > 0 && {
            let first = !self.nodes.results_were_first.get();
            self.nodes.results_were_first.set(first);
            first && self.send_results_of_lanes()
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
            if !self.lane_to(client).results.are_waiting() {
                continue;
            }
            let mut next = place;
            while let Some(ticket) = self.send_first_result(client) {
                self.push_to_root(client, Delegated::travelling::<Root, _>(arrived), Apart(ticket));
                (sent, next) = (true, place + 1);
            }
            // The first one may take all the room of a connection that carries other lanes, too. So once it has sent a
            // value, it is another one's turn.
            if std::mem::take(&mut is_first) {
                self.nodes.first_lane.set(next);
            }
        }
        sent
    }

    /// Sends the first result for a client. Returns its ticket if it has been sent as a whole.
    fn send_first_result(&self, client: usize) -> Option<u64> {
        let lane = self.lane_to(client);
        let mut unsent = lane.results.unsent.borrow_mut();
        let (ticket, value) = unsent.front_mut()?;
        let (ticket, bytes) = (*ticket, value.bytes());
        let outcome = value.send(lane.client.fabric(), || self.shared.ring(client));
        // What was moved into the fabric is not kept here any more.
        lane.results.bytes.set(lane.results.bytes.get() - (bytes - value.bytes()));
        outcome.ok()?;
        lane.results.bytes.set(lane.results.bytes.get() - value.bytes());
        unsent.pop_front();
        self.nodes.results.set(self.nodes.results.get() - 1);
        Some(ticket)
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
