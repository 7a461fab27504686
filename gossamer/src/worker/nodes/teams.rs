//! The contributions of participants in collectives: members of a team, which are fibers on some workers, or nodes
//! (`rack/round.rs`).
//!
//! A contribution is identified by its edge, from one member of a team to another, and by its round. So rounds are
//! never mixed up, however many teams there are, and whether a contribution arrives before or after it is awaited. A
//! member reports its end and the number of its rounds; members that wait for it in a later round are told.
//!
//! Nothing is left behind: of two members at the ends of an edge, the first to end leaves a note with the other,
//! which removes it when it ends itself. Nodes only end together. A node that leaves a round before it has the result
//! sends its failure to those that it still owes a contribution, so each contribution arrives once, and leaves a note
//! for those that it no longer awaits.

use crate::lane::catch;
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::worker::{Worker, with_worker};
use foldhash::fast::FixedState;
use std::any::Any;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

/// Names a team: the worker that made the number, and the number, which is assigned once.
pub(crate) type TeamId = (u32, u64);

/// Two members of a team, by their numbers: the sender and the receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Edge {
    pub(crate) team: TeamId,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// The contribution of a member to a round.
pub(crate) struct Contribution {
    /// The call, and the type of its values.
    pub(crate) call: Cow<'static, str>,
    pub(crate) type_name: Cow<'static, str>,
    pub(crate) value: ContributionValue,
}

/// A value from the same node, or from another.
pub(crate) enum ContributionValue {
    Here(Box<dyn Any + Send>),
    /// With a number that is the same only for the same call with the same type.
    Encoded(u64, Vec<u8>),
    /// No value: why there will be no result.
    Failed(String),
}

/// The recipient of the contribution to a round on an edge.
#[derive(Clone, Copy)]
enum Recipient {
    /// A fiber of this worker.
    Fiber(u32),
    /// Another worker of this node.
    Worker(usize),
    /// Nobody any more.
    Nobody,
}

/// What to do with a contribution that has arrived.
enum Delivery {
    /// It is kept. The fiber, if one waits for it, is woken.
    Kept(Option<u32>),
    /// It is sent to another worker of this node.
    Elsewhere(usize, Contribution),
    /// It is dropped.
    Unwanted(Contribution),
}

/// How a member has ended.
#[derive(Clone, Copy)]
pub(crate) struct Farewell {
    /// The number of rounds it took part in.
    pub(crate) rounds: u64,
    /// It returned: there are no further contributions. Otherwise the fiber that started the team ends it.
    pub(crate) has_returned: bool,
}

/// What is under way to members on one worker.
#[derive(Default)]
pub(crate) struct Teams(RefCell<HashMap<Edge, Contributions, FixedState>>);

/// What has arrived on one edge, to a member here.
#[derive(Default)]
struct Contributions {
    /// By round: contributions that no fiber has taken yet.
    values: VecDeque<(u64, Contribution)>,
    /// The recipients that wait for a round.
    awaited: Vec<(u64, Recipient)>,
    /// The other end has ended.
    farewell: Option<Farewell>,
    /// The member here has ended.
    is_closed: bool,
}

impl Contributions {
    fn take(&mut self, round: u64) -> Option<Contribution> {
        let place = self.values.iter().position(|(come, _)| *come == round)?;
        self.values.remove(place).map(|(_, brought)| brought)
    }
}

impl Teams {
    /// A value has arrived.
    fn arrive(&self, edge: Edge, round: u64, brought: Contribution) -> Delivery {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(edge).or_default();
        if arrivals.is_closed {
            return Delivery::Unwanted(brought);
        }
        let place = arrivals.awaited.iter().position(|(awaited, _)| *awaited == round);
        let fiber = match place.map(|place| arrivals.awaited.swap_remove(place).1) {
            Some(Recipient::Worker(worker)) => return Delivery::Elsewhere(worker, brought),
            Some(Recipient::Nobody) => return Delivery::Unwanted(brought),
            Some(Recipient::Fiber(fiber)) => Some(fiber),
            None => None,
        };
        arrivals.values.push_back((round, brought));
        Delivery::Kept(fiber)
    }

    /// The contribution to a round, if it has arrived; otherwise notes its recipient.
    fn hand_over(&self, edge: Edge, round: u64, to: Recipient) -> Option<Contribution> {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(edge).or_default();
        let come = arrivals.take(round);
        if come.is_none() {
            arrivals.awaited.retain(|(awaited, _)| *awaited != round);
            arrivals.awaited.push((round, to));
        }
        come
    }

    /// The contribution to a round, if it has arrived; or how the member that owes it has ended. Otherwise notes who
    /// waits.
    fn take(&self, edge: Edge, round: u64, fiber: u32) -> Option<Result<Contribution, Farewell>> {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(edge).or_default();
        if let Some(brought) = arrivals.take(round) {
            return Some(Ok(brought));
        }
        if let Some(farewell) = arrivals.farewell.filter(|farewell| farewell.has_returned) {
            return Some(Err(farewell));
        }
        arrivals.awaited.retain(|(awaited, _)| *awaited != round);
        arrivals.awaited.push((round, Recipient::Fiber(fiber)));
        None
    }

    /// The other end of an edge has ended. Returns the fibers that wait for it.
    fn take_farewell(&self, edge: Edge, farewell: Farewell) -> Vec<(u64, Recipient)> {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(edge).or_default();
        if arrivals.is_closed {
            all.remove(&edge);
            return Vec::new();
        }
        arrivals.farewell = Some(farewell);
        std::mem::take(&mut arrivals.awaited)
    }

    /// The member here has ended, and takes nothing more on this edge. Returns what had arrived for it, to be dropped.
    fn close(&self, edge: Edge) -> VecDeque<(u64, Contribution)> {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(edge).or_default();
        let values = std::mem::take(&mut arrivals.values);
        if arrivals.farewell.is_some() {
            all.remove(&edge);
        } else {
            arrivals.is_closed = true;
        }
        values
    }
}

impl Worker {
    /// Brings a value to a round of the member at the other end of an edge, on worker `to` of this node.
    pub(crate) fn bring_here<U: Send + 'static>(
        &self,
        to: usize,
        (edge, round): (Edge, u64),
        call: (&'static str, &'static str),
        value: U,
    ) {
        type Sent<U> = (Edge, u64, (&'static str, &'static str), U);
        let arrive = |_: &mut Root, (edge, round, (call, type_name), value): Sent<U>| {
            // In a box, which the worker that takes the value out frees where it was made.
            let value = ContributionValue::Here(Box::new(value));
            let brought = Contribution { call: call.into(), type_name: type_name.into(), value };
            with_worker(|here| here.take_brought(edge, round, brought));
        };
        self.tell(to, Delegated::of::<Root, _>(arrive), (edge, round, call, value));
    }

    /// Like `bring_here`, for a worker of another node: an encoded value, the name of its type, and the number of the
    /// call and type; or why there is no value.
    pub(crate) fn bring_encoded(
        &self,
        to: usize,
        (edge, round): (Edge, u64),
        (call, type_name, kind): (&str, &str, u64),
        value: Result<Vec<u8>, String>,
    ) {
        type Sent = ((TeamId, u32, u32, u64), (String, String, u64), Result<Vec<u8>, String>);
        let arrive = |_: &mut Root, ((team, from, to, round), (call, type_name, kind), value): Sent| {
            let encoded = |bytes| ContributionValue::Encoded(kind, bytes);
            let value = value.map_or_else(ContributionValue::Failed, encoded);
            let brought = Contribution { call: call.into(), type_name: type_name.into(), value };
            with_worker(|here| here.take_brought(Edge { team, from, to }, round, brought));
        };
        let place = (edge.team, edge.from, edge.to, round);
        let kind = (call.to_owned(), type_name.to_owned(), kind);
        self.tell_worker(to, Delegated::travelling::<Root, _>(arrive), (place, kind, value));
    }

    fn take_brought(&self, edge: Edge, round: u64, brought: Contribution) {
        match self.nodes.teams.arrive(edge, round, brought) {
            Delivery::Kept(waiting) => {
                waiting.into_iter().for_each(|fiber| self.fibers.scheduler.unpark_index(fiber));
            }
            Delivery::Elsewhere(worker, brought) => self.bring_on(worker, edge, round, brought),
            // Outside the borrow: a destructor may call this again.
            Delivery::Unwanted(brought) => drop(brought),
        }
    }

    /// Arranges that contributions to a round on an edge are sent on to another worker of this node.
    pub(super) fn redirect(&self, edge: Edge, round: u64, to: usize) {
        if let Some(brought) = self.nodes.teams.hand_over(edge, round, Recipient::Worker(to)) {
            self.bring_on(to, edge, round, brought);
        }
    }

    fn bring_on(&self, to: usize, edge: Edge, round: u64, brought: Contribution) {
        let arrive = |_: &mut Root, (edge, round, brought): (Edge, u64, Contribution)| {
            with_worker(|here| here.take_brought(edge, round, brought));
        };
        self.tell(to, Delegated::of::<Root, _>(arrive), (edge, round, brought));
    }

    /// Nothing here awaits a contribution to a round on an edge any more.
    pub(crate) fn abandon(&self, edge: Edge, round: u64) {
        drop(self.nodes.teams.hand_over(edge, round, Recipient::Nobody));
    }

    /// Waits in the running fiber, which can be cancelled meanwhile, for the contribution to a round on an edge.
    ///
    /// # Errors
    /// If the other end has ended before that round.
    pub(crate) fn await_brought(&self, edge: Edge, round: u64) -> Result<Contribution, Farewell> {
        loop {
            if let Some(outcome) = self.nodes.teams.take(edge, round, self.running().index) {
                return outcome;
            }
            self.park();
        }
    }

    /// A member on this worker has ended: tells the member at the other end of an edge, on worker `to`.
    pub(crate) fn leave_team(&self, to: usize, edge: Edge, farewell: Farewell) {
        type Sent = (TeamId, (u32, u32), (u64, bool));
        let leave = |_: &mut Root, (team, (from, to), (rounds, has_returned)): Sent| {
            with_worker(|here| {
                let farewell = Farewell { rounds, has_returned };
                for (_, waiting) in here.nodes.teams.take_farewell(Edge { team, from, to }, farewell) {
                    if let Recipient::Fiber(fiber) = waiting {
                        here.fibers.scheduler.unpark_index(fiber);
                    }
                }
            });
        };
        let left = (edge.team, (edge.from, edge.to), (farewell.rounds, farewell.has_returned));
        self.tell_worker(to, Delegated::travelling::<Root, _>(leave), left);
        let back = Edge { team: edge.team, from: edge.to, to: edge.from };
        for unwanted in self.nodes.teams.close(back) {
            catch::contained(|| drop(unwanted));
        }
    }
}
