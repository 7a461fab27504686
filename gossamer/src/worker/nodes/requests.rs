//! What a worker does for its lanes to other nodes: requests to a trustee itself, and answers that arrive separately.

use crate::counters::lane::SentCounters;
use crate::fabric::Fabric;
use crate::lane::catch;
use crate::lane::client::Client;
use crate::lane::encoded::{Apart, Argument, Fixed, Packed, Serving, Unanswered};
use crate::lane::error::report;
use crate::lane::large::{LargeValue, Late};
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::lane::server::Server;
use crate::sys::process::exit;
use crate::transport::records::Damage;
use crate::wire::NoRef;
use crate::wire::refusal::Malformed;
use crate::worker::Worker;
use crate::worker::end::fate;
use crate::worker::nodes::answers::{Outcome, Then};
use crate::worker::nodes::peers::Peers;
use std::fmt;
use std::panic::Location;

/// Exit status of a node that received a message that no node of its program sends, or that was changed on the way.
const NOT_UNDERSTOOD: i32 = 70;

impl Worker {
    /// Like `tell`, for a trustee of any node.
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
            let (lane, ticket) = (self.lane_to(trustee), self.nodes.exchange.ticket());
            let published = lane.client.make_room();
            self.push_to_root(trustee, delegated, Apart(ticket));
            lane.client.leave_with(LargeValue::new(ticket, argument.send()));
            self.after_push(trustee, published);
        } else {
            unreachable!("what this crate sends leaves its node")
        }
    }

    pub(in crate::worker) fn push_to_root<C>(
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

    /// Serves one batch of a worker of another node. Returns whether there was one.
    #[inline(always)]
    pub(in crate::worker) fn serve_node<F: Fabric>(&self, client: usize, server: &mut Server<F>) -> bool {
        let (properties, exchange, worker) = (&self.properties, &self.nodes.exchange, self.index as u32);
        let answers = &self.nodes.answer_room;
        let served = server.serve_encoded(Serving { properties, exchange, worker, client, answers });
        served.unwrap_or_else(|malformed| self.does_not_understand(client, &malformed))
    }

    /// Takes one batch of responses from a worker of another node. Returns whether there was one.
    #[inline(always)]
    pub(in crate::worker) fn take_from_node<F: Fabric>(&self, trustee: usize, client: &Client<F>) -> bool {
        let failed = |number, sent_from| self.report_late(client.counters(), (trustee, number), sent_from);
        client.take_encoded(failed).unwrap_or_else(|malformed| self.does_not_understand(trustee, &malformed))
    }

    /// Reports an error when it arrives, of a request whose outcome nobody takes.
    #[cold]
    fn report_late(
        &self,
        counters: &SentCounters,
        ticket: (usize, u64),
        sent_from: &'static Location<'static>,
    ) {
        counters.failed.add(1);
        let report = move |outcome: Outcome| {
            if let Err(error) = outcome {
                report(error, sent_from);
            }
        };
        self.nodes.answers.expect(ticket, Box::new(report));
    }

    #[cold]
    pub(in crate::worker) fn does_not_understand(&self, peer: usize, malformed: &Malformed) -> ! {
        let node = self.shared.peers.as_ref().map_or(0, |peers| peers.node_of(peer));
        self.not_understood(&format_args!("node {node}"), &format_args!("its worker {peer}: {malformed}"))
    }

    /// Ends the process: another node sent a message that no node of this program sends.
    #[cold]
    pub(in crate::worker) fn not_understood(&self, other: &dyn fmt::Display, what: &dyn fmt::Display) -> ! {
        let here = self.shared.peers.as_ref().map_or(0, Peers::node);
        exit::at_once(
            &format!("gossamer: worker {} of node {here} does not understand {other}: {what}", self.index),
            NOT_UNDERSTOOD,
        )
    }

    /// Ends the process: a message of another node was changed on the way.
    #[cold]
    pub(in crate::worker) fn damaged(&self, damage: &Damage) -> ! {
        let here = self.shared.peers.as_ref().map_or(0, Peers::node);
        fate::report(&format!("worker {} of node {here}: {damage}", self.index));
        exit::silently(NOT_UNDERSTOOD)
    }

    /// Sends the answers that found no room in their responses, and hands over those that arrived. Returns whether there was any.
    pub(in crate::worker) fn exchange_answers(&self) -> bool {
        let (late, ready) = (self.nodes.exchange.take_late(), self.nodes.answers.take_ready());
        let busy = !late.is_empty() || !ready.is_empty();
        for Late { client, ticket, outcome } in late {
            self.answer(client, (self.index as u32, ticket), outcome);
        }
        for (then, outcome) in ready {
            catch::contained(|| then(outcome));
        }
        busy
    }

    /// Whether an answer has to be sent or handed over. An awaited answer is not this worker's work, but that of the
    /// fiber that will send it, or of the message that contains it.
    pub(in crate::worker) fn has_answers(&self) -> bool {
        self.nodes.exchange.has_late() || self.nodes.answers.has_ready() || self.nodes.results.get() > 0
    }

    /// Calls `then` with the answer to the ticket that this returns.
    pub(crate) fn expect_new(&self, then: Then) -> (u32, u64) {
        let ticket = self.nodes.exchange.ticket();
        self.nodes.answers.expect((self.index, ticket), then);
        (self.index as u32, ticket)
    }

    /// A name for a large value.
    pub(crate) fn new_ticket(&self) -> u64 {
        self.nodes.exchange.ticket()
    }
}
