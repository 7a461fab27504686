//! What the members of a team bring each other: fibers on some workers that do collectives together (`rack/team.rs`).
//!
//! A value is known by its *place*: the team, from whom to whom, and in which round of the team. So rounds are never mixed up, however
//! many teams there are, and whether a value comes before it is awaited or after. A member says when it ends, and how many
//! rounds it has come to; who waits for it in a later one is told.
//!
//! Nothing is left behind: of two members that may bring each other something, the one that ends first leaves a note with the other, and
//! the other takes it away when it ends itself.

use crate::lane::catch;
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::worker::{Worker, with_worker};
use foldhash::fast::FixedState;
use std::any::{Any, type_name};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

/// Names a team: the worker that made the number, and the number, which is given once.
pub(crate) type TeamId = (u32, u64);

/// Two members of a team, by their numbers in it: who brings, and to whom.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Way {
    pub(crate) team: TeamId,
    pub(crate) from: u32,
    pub(crate) to: u32,
}

/// What a member brings to a round.
pub(crate) struct Brought {
    /// What it has called, and with values of which type.
    pub(crate) call: Cow<'static, str>,
    pub(crate) type_name: Cow<'static, str>,
    pub(crate) value: BroughtValue,
}

/// A value from the same node, or from another.
pub(crate) enum BroughtValue {
    Here(Box<dyn Any>),
    /// With a number that is the same only for the same call with the same type.
    Encoded(u64, Vec<u8>),
}

/// How a member has ended.
#[derive(Clone, Copy)]
pub(crate) struct Farewell {
    /// The rounds it has come to.
    pub(crate) rounds: u64,
    /// By returning: what it has brought is all. Otherwise whoever has started the team ends it.
    pub(crate) has_returned: bool,
}

/// What is under way to members on one worker.
#[derive(Default)]
pub(crate) struct Teams(RefCell<HashMap<Way, Arrivals, FixedState>>);

/// What has come on one way, to a member here.
#[derive(Default)]
struct Arrivals {
    /// By round, which nobody has taken yet.
    values: VecDeque<(u64, Brought)>,
    /// Fibers that wait for a round.
    awaited: Vec<(u64, u32)>,
    /// The other end has ended.
    farewell: Option<Farewell>,
    /// The member here has ended.
    is_closed: bool,
}

impl Teams {
    /// A value has come; the fiber that waits for it. If nobody comes for it any more it is given back, to be dropped.
    fn arrive(&self, way: Way, round: u64, brought: Brought) -> Result<Option<u32>, Brought> {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(way).or_default();
        if arrivals.is_closed {
            return Err(brought);
        }
        arrivals.values.push_back((round, brought));
        let place = arrivals.awaited.iter().position(|(awaited, _)| *awaited == round);
        Ok(place.map(|place| arrivals.awaited.swap_remove(place).1))
    }

    /// The value of a round, if it has come; or how the one who should have brought it has ended. Otherwise notes who waits.
    fn take(&self, way: Way, round: u64, fiber: u32) -> Option<Result<Brought, Farewell>> {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(way).or_default();
        if let Some(place) = arrivals.values.iter().position(|(come, _)| *come == round) {
            return arrivals.values.remove(place).map(|(_, brought)| Ok(brought));
        }
        if let Some(farewell) = arrivals.farewell.filter(|farewell| farewell.has_returned) {
            return Some(Err(farewell));
        }
        arrivals.awaited.retain(|(_, waiting)| *waiting != fiber);
        arrivals.awaited.push((round, fiber));
        None
    }

    /// The other end of a way has ended; the fibers that wait for it.
    fn take_farewell(&self, way: Way, farewell: Farewell) -> Vec<(u64, u32)> {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(way).or_default();
        if arrivals.is_closed {
            all.remove(&way);
            return Vec::new();
        }
        arrivals.farewell = Some(farewell);
        std::mem::take(&mut arrivals.awaited)
    }

    /// The member here has ended, and takes nothing more on this way. What had come for it is given back, to be dropped.
    fn close(&self, way: Way) -> VecDeque<(u64, Brought)> {
        let mut all = self.0.borrow_mut();
        let arrivals = all.entry(way).or_default();
        let values = std::mem::take(&mut arrivals.values);
        if arrivals.farewell.is_some() {
            all.remove(&way);
        } else {
            arrivals.is_closed = true;
        }
        values
    }
}

impl Worker {
    /// Brings a value to a round of the member at the other end of `way`, on worker `to` of this node.
    pub(crate) fn bring_here<U: Send + 'static>(
        &self,
        to: usize,
        (way, round): (Way, u64),
        call: &'static str,
        value: U,
    ) {
        let arrive = |_: &mut Root, (way, round, call, value): (Way, u64, &'static str, U)| {
            // In a box that the one who takes it out frees where it was made.
            let (type_name, value) = (type_name::<U>().into(), BroughtValue::Here(Box::new(value)));
            let brought = Brought { call: call.into(), type_name, value };
            with_worker(|here| here.take_brought(way, round, brought));
        };
        self.tell(to, Delegated::of::<Root, _>(arrive), (way, round, call, value));
    }

    /// As `bring_here`, for a worker of another node: a value of the type with this name, encoded, and the number of call and type.
    pub(crate) fn bring_encoded(
        &self,
        to: usize,
        (way, round): (Way, u64),
        (call, type_name, kind): (&str, &str, u64),
        bytes: Vec<u8>,
    ) {
        type Sent = ((TeamId, u32, u32, u64), (String, String, u64), Vec<u8>);
        let arrive = |_: &mut Root, ((team, from, to, round), (call, type_name, kind), bytes): Sent| {
            let value = BroughtValue::Encoded(kind, bytes);
            let brought = Brought { call: call.into(), type_name: type_name.into(), value };
            with_worker(|here| here.take_brought(Way { team, from, to }, round, brought));
        };
        let place = (way.team, way.from, way.to, round);
        let kind = (call.to_owned(), type_name.to_owned(), kind);
        self.tell_worker(to, Delegated::travelling::<Root, _>(arrive), (place, kind, bytes));
    }

    fn take_brought(&self, way: Way, round: u64, brought: Brought) {
        match self.nodes.teams.arrive(way, round, brought) {
            Ok(waiting) => waiting.into_iter().for_each(|fiber| self.fibers.scheduler.unpark_index(fiber)),
            // Outside of the borrow: a destructor may come back here.
            Err(unwanted) => drop(unwanted),
        }
    }

    /// Waits in the running fiber, which can be cancelled meanwhile, for what comes to a round on a way.
    ///
    /// # Errors
    /// If the other end has ended before that round.
    pub(crate) fn await_brought(&self, way: Way, round: u64) -> Result<Brought, Farewell> {
        loop {
            if let Some(outcome) = self.nodes.teams.take(way, round, self.running().index) {
                return outcome;
            }
            self.park();
        }
    }

    /// A member on this worker has ended: tells the one at the other end of `way`, on worker `to`.
    pub(crate) fn leave_team(&self, to: usize, way: Way, farewell: Farewell) {
        type Sent = (TeamId, (u32, u32), (u64, bool));
        let leave = |_: &mut Root, (team, (from, to), (rounds, has_returned)): Sent| {
            with_worker(|here| {
                let farewell = Farewell { rounds, has_returned };
                for (_, fiber) in here.nodes.teams.take_farewell(Way { team, from, to }, farewell) {
                    here.fibers.scheduler.unpark_index(fiber);
                }
            });
        };
        let left = (way.team, (way.from, way.to), (farewell.rounds, farewell.has_returned));
        self.tell_worker(to, Delegated::travelling::<Root, _>(leave), left);
        let back = Way { team: way.team, from: way.to, to: way.from };
        for unwanted in self.nodes.teams.close(back) {
            catch::contained(|| drop(unwanted));
        }
    }
}
