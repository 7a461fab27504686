//! [`CollectiveRound`]: a collective, from the view of one participant: a member of a team, or a node of the rack.
//!
//! The tree is in `structures/tree.rs`, the handling of messages on a worker in `worker/nodes/teams.rs`. Members in
//! the order of workers are also in the order of nodes, so most edges stay inside a node.

use crate::NoRef;
use crate::rack::topology::on_worker;
use crate::structures::tree::{Tree, TreeStep};
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::worker::Worker;
use crate::worker::nodes::teams::{Contribution, ContributionValue, Edge, Farewell, TeamId};
use foldhash::fast::FixedState;
use std::any::{TypeId, type_name};
use std::cell::Cell;
use std::hash::BuildHasher;

/// The collective that is called, and the type of its values.
#[derive(Clone, Copy)]
pub(super) struct Collective {
    pub(super) name: &'static str,
    type_name: &'static str,
    type_id: TypeId,
}

impl Collective {
    /// A call with a value of type `T`.
    pub(super) fn of<T: 'static>(name: &'static str) -> Self {
        Self { name, type_name: type_name::<T>(), type_id: TypeId::of::<T>() }
    }

    /// A number that is the same on all nodes for the same call with the same type.
    fn kind(self) -> u64 {
        FixedState::with_seed(0).hash_one((self.type_id, self.name))
    }
}

/// The participants of collectives.
pub(super) struct Participants<F> {
    pub(super) team: TeamId,
    /// The worker where a participant, by its number, is reached.
    pub(super) worker_of: F,
    /// What a participant is called.
    pub(super) one: &'static str,
    /// The rule that they have to follow.
    pub(super) rule: &'static str,
}

/// A round of one participant.
pub(super) struct CollectiveRound<F> {
    participants: Participants<F>,
    tree: Tree,
    number: u64,
    call: Collective,
    /// The neighbours in the tree that it has not sent to yet, and those that it has not received from: for each, the
    /// bit in which its number differs.
    owed: Cell<u32>,
    due: Cell<u32>,
}

/// A round that a participant has left before it had the result.
pub(super) struct LeftRound {
    pub(super) call: Collective,
    number: u64,
    owed: u32,
    due: u32,
}

impl<F: Fn(&Worker, u32) -> usize> CollectiveRound<F> {
    pub(super) fn new(participants: Participants<F>, tree: Tree, number: u64, call: Collective) -> Self {
        let all = tree.neighbours().fold(0, |all, neighbour| all | (neighbour ^ tree.number));
        Self { participants, tree, number, call, owed: Cell::new(all), due: Cell::new(all) }
    }

    /// A round that was left before, to [fail](Self::fail) in it.
    pub(super) fn again(participants: Participants<F>, tree: Tree, left: LeftRound) -> Self {
        let LeftRound { call, number, owed, due } = left;
        Self { participants, tree, number, call, owed: Cell::new(owed), due: Cell::new(due) }
    }

    /// What others may wait for, if the participant leaves the round now.
    pub(super) fn left(&self) -> Option<LeftRound> {
        let (owed, due) = (self.owed.get(), self.due.get());
        (owed | due != 0).then_some(LeftRound { call: self.call, number: self.number, owed, due })
    }

    /// Whether there are no other participants.
    pub(super) fn is_alone(&self) -> bool {
        self.tree.count == 1
    }

    /// Up the tree and down again: the values of all, combined in order.
    ///
    /// # Errors
    /// If another participant called a different collective, or has left; the text says which. If the value cannot
    /// leave its node.
    #[track_caller]
    pub(super) fn meet<U: NoRef + Clone>(
        &self,
        value: U,
        mut combine: impl FnMut(U, U) -> U,
    ) -> Result<U, String> {
        let mut own = value;
        for step in self.tree.steps() {
            own = match step {
                TreeStep::Combine(other) => combine(own, self.take(other)?),
                TreeStep::Exchange(other) => {
                    self.bring(other, own.clone())?;
                    let theirs = self.take(other)?;
                    if self.tree.number < other { combine(own, theirs) } else { combine(theirs, own) }
                }
                TreeStep::Ask(other) => {
                    self.bring(other, own)?;
                    self.take(other)?
                }
                TreeStep::Tell(other) => {
                    self.bring(other, own.clone())?;
                    own
                }
            };
        }
        // The others go on, however long this one computes before it waits again.
        on_worker(self.call.name, |here| {
            for other in self.tree.neighbours() {
                here.send_now((self.participants.worker_of)(here, other));
            }
        });
        Ok(own)
    }

    #[track_caller]
    fn bring<U: NoRef>(&self, to: u32, value: U) -> Result<(), String> {
        let (edge, call) = (self.edge(self.tree.number, to), self.call);
        on_worker(call.name, |here| {
            let worker = (self.participants.worker_of)(here, to);
            if here.is_neighbour(worker) {
                here.bring_here(worker, (edge, self.number), (call.name, call.type_name), value);
            } else {
                let encoded = Encoder::encoded(value);
                let bytes =
                    encoded.map_err(|refused| format!("`{}`: {}", call.name, refused.into_refusal()))?;
                let kind = (call.name, call.type_name, call.kind());
                here.bring_encoded(worker, (edge, self.number), kind, Ok(bytes));
            }
            self.owed.set(self.owed.get() & !(self.tree.number ^ to));
            Ok(())
        })
    }

    #[track_caller]
    fn take<U: NoRef>(&self, from: u32) -> Result<U, String> {
        let edge = self.edge(from, self.tree.number);
        let (call, number, one) = (self.call, self.tree.number, self.participants.one);
        let worker = on_worker(call.name, |here| (self.participants.worker_of)(here, from));
        let _noted = Fiber::note_wait(Wait::in_call(call.name).on(WaitsOn::Worker(worker as u32)));
        let Contribution { call: other, type_name, value } =
            on_worker(call.name, |here| here.await_brought(edge, self.number)).map_err(
                |Farewell { rounds, .. }| {
                    format!(
                        "{one} {number} waits in `{}` for {one} {from}, which has returned after {rounds} collectives: {}",
                        call.name, self.participants.rule
                    )
                },
            )?;
        self.due.set(self.due.get() & !(number ^ from));
        match value {
            ContributionValue::Failed(why) => Err(why),
            ContributionValue::Here(value) if other == call.name && value.is::<U>() => match value.downcast()
            {
                Ok(value) => Ok(*value),
                Err(_) => unreachable!("it is of this type"),
            },
            ContributionValue::Encoded(kind, bytes) if kind == call.kind() => {
                Decoder::decoded(&bytes).map_err(|malformed| format!("`{}`: {malformed}", call.name))
            }
            _ => Err(format!(
                "{one} {number} came to `{}::<{}>`, and {one} {from} to `{other}::<{type_name}>`: {}",
                call.name, call.type_name, self.participants.rule
            )),
        }
    }

    /// Tells those that may wait for this one that there will be no result, and why. Messages that arrive for it are
    /// dropped.
    pub(super) fn fail(&self, here: &Worker, why: &str) {
        let number = self.tree.number;
        let (owed, due) = (self.owed.take(), self.due.take());
        for other in self.tree.neighbours() {
            if owed & (number ^ other) != 0 {
                let worker = (self.participants.worker_of)(here, other);
                let kind = (self.call.name, self.call.type_name, self.call.kind());
                let edge = self.edge(number, other);
                here.bring_encoded(worker, (edge, self.number), kind, Err(why.to_owned()));
            }
            if due & (number ^ other) != 0 {
                here.abandon(self.edge(other, number), self.number);
            }
        }
    }

    fn edge(&self, from: u32, to: u32) -> Edge {
        Edge { team: self.participants.team, from, to }
    }
}
