//! What a worker does for its lanes to other nodes: requests to a trustee itself, and answers that come apart.

use crate::fabric::Fabric;
use crate::lane::catch;
use crate::lane::client::Client;
use crate::lane::encoded::{Apart, Argument, Fixed, Packed, Serving, Unanswered};
use crate::lane::error::DelegationError;
use crate::lane::large::{LargeValue, Late};
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::lane::server::Server;
use crate::sys::process::exit;
use crate::wire::NoRef;
use crate::wire::refusal::Malformed;
use crate::wire::rows::Rows;
use crate::worker::peers::Peers;
use crate::worker::{Worker, with_worker};
use std::cell::RefCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

/// Exit status of a node that got what no node of its program sends.
const NOT_UNDERSTOOD: i32 = 70;

/// An answer as it arrives: an encoded result, or why there is none.
pub(crate) type Outcome = Result<Rows, DelegationError>;

/// What is done with an answer that comes apart.
pub(crate) type Then = Box<dyn FnOnce(Outcome)>;

/// Names an answer: the worker that made the number, and the number.
type Ticket = (usize, u64);

/// Answers that come apart from their responses, and who waits for them. Either may be here first.
#[derive(Default)]
pub(crate) struct Expected {
    answers: RefCell<HashMap<Ticket, Expectation>>,
    /// Arrived since the last look, with who waits: called from the loop, not in the delegated closure that brought them.
    ready: RefCell<Vec<(Then, Outcome)>>,
}

enum Expectation {
    Awaited(Then),
    Arrived(Outcome),
}

impl Expected {
    fn meet(&self, ticket: Ticket, this: Expectation) {
        let mut answers = self.answers.borrow_mut();
        match answers.entry(ticket) {
            Entry::Vacant(place) => {
                place.insert(this);
            }
            Entry::Occupied(other) => match (other.remove(), this) {
                (Expectation::Awaited(then), Expectation::Arrived(outcome))
                | (Expectation::Arrived(outcome), Expectation::Awaited(then)) => {
                    self.ready.borrow_mut().push((then, outcome));
                }
                // Numbers are given once.
                _ => {}
            },
        }
    }
}

impl Worker {
    /// As `tell`, for a trustee of any node.
    pub(crate) fn tell_worker<C: NoRef>(
        &self,
        trustee: usize,
        delegated: Delegated<Root, C, ()>,
        arguments: C,
    ) {
        if self.is_neighbour(trustee) {
            return self.tell(trustee, delegated, arguments);
        }
        if Fixed::<C>::FITS {
            self.push_to_root(trustee, delegated, Fixed(arguments));
        } else if let Ok(argument) = Packed::new(arguments) {
            if !argument.is_large() {
                return self.push_to_root(trustee, delegated, argument);
            }
            let (lane, ticket) = (self.lane_to(trustee), self.exchange.ticket());
            let published = lane.client.make_room();
            self.push_to_root(trustee, delegated, Apart(ticket));
            lane.client.leave_with(LargeValue::new(ticket, argument.send()));
            self.after_push(trustee, published);
        } else {
            unreachable!("what this crate sends leaves its node")
        }
    }

    pub(super) fn push_to_root<C>(
        &self,
        trustee: usize,
        delegated: Delegated<Root, C, ()>,
        argument: impl Argument<C>,
    ) {
        assert!(!self.is_neighbour(trustee), "values are encoded for other nodes only");
        let failed = |answer: Result<(), Unanswered>| {
            if answer.is_err() {
                eprintln!("gossamer: a message between nodes failed: this is a bug in gossamer");
            }
        };
        let published = self.lane_to(trustee).client.push_encoded_to_root(delegated, argument, failed);
        self.after_push(trustee, published);
    }

    /// Serves one batch of a worker of another node; whether there was one.
    #[inline(always)]
    pub(super) fn serve_node<F: Fabric>(&self, client: usize, server: &mut Server<F>) -> bool {
        let (properties, exchange, worker) = (&self.properties, &self.exchange, self.index as u32);
        let served = server.serve_encoded(Serving { properties, exchange, worker, client });
        served.unwrap_or_else(|malformed| self.does_not_understand(client, &malformed))
    }

    /// Takes one batch of responses from a worker of another node; whether there was one.
    #[inline(always)]
    pub(super) fn take_from_node<F: Fabric>(&self, trustee: usize, client: &Client<F>) -> bool {
        client.take_encoded().unwrap_or_else(|malformed| self.does_not_understand(trustee, &malformed))
    }

    #[cold]
    pub(super) fn does_not_understand(&self, peer: usize, malformed: &Malformed) -> ! {
        let node = self.shared.peers.as_ref().map_or(0, |peers| peers.node_of(peer));
        self.not_understood(Some(node), &format!("its worker {peer}: {malformed}"))
    }

    /// Ends the process: another node has sent what no node of this program sends.
    #[cold]
    pub(super) fn not_understood(&self, node: Option<usize>, what: &dyn fmt::Display) -> ! {
        let other = node.map_or_else(|| "a node of its machine".to_owned(), |node| format!("node {node}"));
        let here = self.shared.peers.as_ref().map_or(0, Peers::node);
        exit::at_once(
            &format!("gossamer: worker {} of node {here} does not understand {other}: {what}", self.index),
            NOT_UNDERSTOOD,
        )
    }

    /// Calls `then` with an answer that comes apart, now or later, from the loop.
    pub(crate) fn expect(&self, ticket: Ticket, then: Then) {
        self.expected.meet(ticket, Expectation::Awaited(then));
    }

    /// As `expect`, for an answer that is asked for with the ticket that this returns.
    pub(crate) fn expect_new(&self, then: Then) -> (u32, u64) {
        let ticket = self.exchange.ticket();
        self.expected.meet((self.index, ticket), Expectation::Awaited(then));
        (self.index as u32, ticket)
    }

    /// Nobody will answer under a ticket that this worker made: whoever waits is told by being dropped.
    pub(crate) fn withdraw(&self, ticket: (u32, u64)) {
        let awaited = self.expected.answers.borrow_mut().remove(&(ticket.0 as usize, ticket.1));
        // Outside of the borrow: it may wake somebody.
        drop(awaited);
    }

    /// Nobody will answer anything any more.
    pub(super) fn drop_expectations(&self) {
        let (awaited, arrived) = (self.expected.answers.take(), self.expected.ready.take());
        awaited.into_values().for_each(|expectation| catch::contained(|| drop(expectation)));
        arrived.into_iter().for_each(|ready| catch::contained(|| drop(ready)));
    }

    /// Answers a worker of any node under a ticket that it made, or that this one made for it.
    pub(crate) fn answer(&self, client: usize, ticket: (u32, u64), outcome: Outcome) {
        let arrived = |_: &mut Root, (maker, number, outcome): (u32, u64, Outcome)| {
            with_worker(|here| {
                here.expected.meet((maker as usize, number), Expectation::Arrived(outcome));
            });
        };
        if client == self.index {
            return self.expected.meet((ticket.0 as usize, ticket.1), Expectation::Arrived(outcome));
        }
        let delegated = Delegated::travelling::<Root, _>(arrived);
        self.tell_worker(client, delegated, (ticket.0, ticket.1, outcome));
    }

    /// Sends the answers that found no room in their responses, and hands over those that arrived. Whether there was any.
    pub(super) fn exchange_answers(&self) -> bool {
        let late = self.exchange.take_late();
        let ready = self.expected.ready.take();
        let busy = !late.is_empty() || !ready.is_empty();
        for Late { client, ticket, outcome } in late {
            self.answer(client, (self.index as u32, ticket), outcome);
        }
        for (then, outcome) in ready {
            catch::contained(|| then(outcome));
        }
        busy
    }

    /// Whether an answer has to be sent or handed over. One that is awaited is none of this worker's work: it is that of the
    /// fiber that will send it, or of the message that it is in.
    pub(super) fn has_answers(&self) -> bool {
        self.exchange.has_late() || !self.expected.ready.borrow().is_empty()
    }
}
