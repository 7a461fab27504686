//! Collectives: worker 0 of node 0 gathers what each node brings to a round, and gives all of it to each.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::wire::encoder::Encoder;
use crate::worker::nodes::answers::Outcome;
use crate::worker::{Worker, with_worker};
use std::cell::RefCell;
use std::collections::HashMap;

/// Where the rounds are kept.
const COORDINATOR: usize = 0;

/// The rounds that some nodes have come to and others have not.
#[derive(Default)]
pub(crate) struct Rounds(RefCell<HashMap<u64, Vec<Option<Arrived>>>>);

/// A node that has come to a round: who waits there, and what it brought.
struct Arrived {
    client: usize,
    ticket: (u32, u64),
    bytes: Vec<u8>,
}

impl Rounds {
    /// One of `nodes` nodes has come to a round: what all brought, in the order of their numbers, if it is the last.
    fn arrive(&self, round: u64, (node, nodes): (usize, usize), arrived: Arrived) -> Option<Vec<Arrived>> {
        let mut rounds = self.0.borrow_mut();
        let there = rounds.entry(round).or_insert_with(|| (0..nodes).map(|_| None).collect());
        if let Some(place) = there.get_mut(node) {
            *place = Some(arrived);
        }
        if there.iter().any(Option::is_none) {
            return None;
        }
        rounds.remove(&round).map(|all| all.into_iter().flatten().collect())
    }
}

impl Worker {
    /// Comes to the next round of this node with `bytes`, and has `then` called with what all nodes brought, encoded, when
    /// the last has come.
    pub(crate) fn meet_all(&self, bytes: Vec<u8>, then: impl FnOnce(Outcome) + 'static) {
        type Arrival = (u64, usize, (u32, (u32, u64)), Vec<u8>);
        let arrive = |_: &mut Root, (round, node, (client, ticket), bytes): Arrival| {
            with_worker(|here| {
                let arrived = Arrived { client: client as usize, ticket, bytes };
                here.arrive(round, node, arrived);
            });
        };
        let node = self.shared.peers.as_ref().map_or(0, |peers| peers.node());
        let ticket = self.expect_new(Box::new(then));
        let arrival = (self.shared.next_round(), node, (self.index as u32, ticket), bytes);
        let delegated = Delegated::travelling::<Root, _>(arrive);
        self.tell_worker(COORDINATOR, delegated, arrival);
    }

    fn arrive(&self, round: u64, node: usize, arrived: Arrived) {
        let nodes = self.shared.peers.as_ref().map_or(1, |peers| peers.nodes());
        let Some(all) = self.nodes.rounds.arrive(round, (node, nodes), arrived) else { return };
        let (who, brought): (Vec<_>, Vec<_>) =
            all.into_iter().map(|node| ((node.client, node.ticket), node.bytes)).unzip();
        for (client, ticket) in who {
            let Ok(all) = Encoder::marshal_in_rows(brought.clone()) else {
                unreachable!("bytes leave their node")
            };
            self.answer(client, ticket, Ok(all.send()));
        }
    }
}
