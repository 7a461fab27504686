//! [`TeamMember`]: a fiber on one of some workers, as it knows those on the others.
//!
//! A collective is a reduction up a binomial tree, and the same tree down. Member `i` has as its parent `i` without its lowest bit,
//! so each subtree is a row of members, values are combined in their order, and there are at most as many levels as the number of
//! members has bits. Over the edge at the top both halves are exchanged, which saves a step. Members in the order of workers are in the
//! order of nodes, so most edges stay inside one.

use crate::NoRef;
use crate::rack::team::Workers;
use crate::rack::topology::on_worker;
use crate::trust::refuse_while_unwinding;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::worker::nodes::teams::{ContributionValue, Edge, Farewell, TeamId};
use crate::worker::{Worker, with_worker};
use foldhash::fast::FixedState;
use std::any::{TypeId, type_name};
use std::cell::Cell;
use std::fmt;
use std::hash::BuildHasher;
use std::marker::PhantomData;

/// One of the fibers that [`Workers::each`] has started, as it knows the others: for what they do together.
///
/// Each collective is called by all members, in the same order. Different teams, also on the same workers, do not disturb
/// each other. A member that comes to another collective than the others, or returns while others wait for it, is
/// reported to these, which panic; and so [`Workers::each`] does.
///
/// With `n` members a collective takes `2 (n - 1)` requests, and the time of at most `2 log2 n - 1` of them, one after another, for
/// `n` a power of two: a reduction up a binomial tree, and the result down. A request carries what is brought; between nodes also the
/// names of the call and the type, and 40 bytes.
///
/// ```
/// use gossamer::{Config, Workers, rack};
/// let sums = rack::run_in_process(2, Config::default().threads(2), || {
///     Workers::all().each(const {
///         |member| {
///             member.barrier(); // all are here
///             let indices = member.gather(member.index());
///             assert_eq!(indices, [0, 1, 2, 3]);
///             member.all_reduce(indices[member.index()], |one, other| one + other)
///         }
///     })
/// });
/// assert_eq!(sums, [6, 6, 6, 6]);
/// ```
pub struct TeamMember {
    team: TeamId,
    number: u32,
    workers: Workers,
    /// Rounds it has come to.
    rounds: Cell<u64>,
    has_returned: Cell<bool>,
    /// It stays in its fiber.
    stays: PhantomData<*const ()>,
}

impl TeamMember {
    pub(super) fn new(team: TeamId, number: u32, workers: Workers) -> Self {
        let (rounds, has_returned) = (Cell::new(0), Cell::new(false));
        Self { team, number, workers, rounds, has_returned, stays: PhantomData }
    }

    /// The fiber has come to its end, and not by a panic.
    pub(super) fn note_return(&self) {
        self.has_returned.set(true);
    }

    /// Its place among the members, from 0.
    #[must_use]
    pub fn index(&self) -> usize {
        self.number as usize
    }

    /// How many members there are.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// assert_eq!(gossamer::Workers::all().each(const { |member| member.count() }), [2, 2]);
    /// # });
    /// ```
    #[must_use]
    pub fn count(&self) -> usize {
        self.workers.trustees().len()
    }

    /// The workers of all members.
    #[must_use]
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Waits until all members have come here.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let come = gossamer::entrust(0);
    /// gossamer::Workers::all().each_with(
    ///     const {
    ///         |member, come: gossamer::Trust<i32>| {
    ///             come.apply(|come| *come += 1);
    ///             member.barrier();
    ///             assert_eq!(come.apply(|come| *come), 2);
    ///         }
    ///     },
    ///     come,
    /// );
    /// # });
    /// ```
    ///
    /// # Panics
    /// If another member comes to another collective, or has returned; in a delegated closure or a callback, which cannot wait; and while
    /// the fiber unwinds from a panic. If it is cancelled, it is unwound.
    #[track_caller]
    pub fn barrier(&self) {
        self.meet("barrier", (), |(), ()| ());
    }

    /// Gives every member what each of them brings, in their order.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let all = gossamer::Workers::all().each(const { |member| member.gather(member.index() * 10) });
    /// assert_eq!(all, [[0, 10], [0, 10]]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// As [`barrier`](Self::barrier); and if the value cannot leave its node.
    #[track_caller]
    pub fn gather<U: NoRef + Clone>(&self, value: U) -> Vec<U> {
        self.meet("gather", vec![value], |mut all, more| {
            all.extend(more);
            all
        })
    }

    /// Combines what the members bring, in their order, and gives every member the result. `combine` is to be associative: which neighbours are
    /// combined first depends on the number of members, and on nothing else. Two of the members combine the last two halves, each for
    /// itself, so it is to give the same for the same.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let most = gossamer::Workers::all().each(const { |member| member.all_reduce(member.index(), usize::max) });
    /// assert_eq!(most, [1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// As [`gather`](Self::gather), and if `combine` does.
    #[track_caller]
    pub fn all_reduce<U: NoRef + Clone>(&self, value: U, combine: impl FnMut(U, U) -> U) -> U {
        self.meet("all_reduce", value, combine)
    }

    /// Up the tree and down again.
    #[track_caller]
    fn meet<U: NoRef + Clone>(&self, call: &'static str, value: U, mut combine: impl FnMut(U, U) -> U) -> U {
        refuse_while_unwinding("waits for other members", "come to the collective before");
        on_worker(call, |here| here.require_fiber(call));
        let round = self.rounds.replace(self.rounds.get() + 1);
        let mut own = value;
        for child in self.children().filter(|child| Some(*child) != self.opposite()) {
            own = combine(own, self.take(call, child, round));
        }
        if let Some(opposite) = self.opposite() {
            self.bring(call, opposite, round, own.clone());
            let theirs = self.take(call, opposite, round);
            own = if self.number < opposite { combine(own, theirs) } else { combine(theirs, own) };
        } else if let Some(parent) = self.parent() {
            self.bring(call, parent, round, own);
            own = self.take(call, parent, round);
        }
        // The furthest first: what is below it takes longest.
        for child in self.children().rev().filter(|child| Some(*child) != self.opposite()) {
            self.bring(call, child, round, own.clone());
        }
        own
    }

    /// The other end of the edge at the top of the tree, over which both halves are exchanged.
    fn opposite(&self) -> Option<u32> {
        let top = 1 << (self.count() as u32 - 1).checked_ilog2()?;
        match self.number {
            0 => Some(top),
            number if number == top => Some(0),
            _ => None,
        }
    }

    fn parent(&self) -> Option<u32> {
        (self.number > 0).then(|| self.number & (self.number - 1))
    }

    /// In their order.
    fn children(&self) -> impl DoubleEndedIterator<Item = u32> + use<> {
        let (number, count) = (self.number, self.count() as u32);
        // Those of the root end with the number of members.
        let levels =
            if number == 0 { u32::BITS - (count - 1).leading_zeros() } else { number.trailing_zeros() };
        (0..levels).map(move |level| number | 1 << level).filter(move |child| *child < count)
    }

    #[track_caller]
    fn bring<U: NoRef>(&self, call: &'static str, to: u32, round: u64, value: U) {
        let edge = Edge { team: self.team, from: self.number, to };
        on_worker(call, |here| {
            let worker = self.workers.trustees()[to as usize].index();
            if here.is_neighbour(worker) {
                return here.bring_here(worker, (edge, round), call, value);
            }
            let bytes = Encoder::encoded(value)
                .unwrap_or_else(|refused| panic!("`TeamMember::{call}`: {}", refused.into_refusal()));
            here.bring_encoded(worker, (edge, round), (call, type_name::<U>(), kind::<U>(call)), bytes);
        });
    }

    #[track_caller]
    fn take<U: NoRef>(&self, call: &'static str, from: u32, round: u64) -> U {
        let edge = Edge { team: self.team, from, to: self.number };
        let brought = match on_worker(call, |here| here.await_brought(edge, round)) {
            Ok(brought) => brought,
            Err(Farewell { rounds, .. }) => panic!(
                "member {} waits in `TeamMember::{call}` for member {from}, which has returned after {rounds} collectives: all members call \
                 the same, in the same order",
                self.number
            ),
        };
        match brought.value {
            ContributionValue::Here(value) if brought.call == call && value.is::<U>() => {
                match value.downcast() {
                    Ok(value) => *value,
                    Err(_) => unreachable!("it is of this type"),
                }
            }
            ContributionValue::Encoded(of, bytes) if of == kind::<U>(call) => Decoder::decoded(&bytes)
                .unwrap_or_else(|malformed| panic!("`TeamMember::{call}`: {malformed}")),
            _ => panic!(
                "member {} came to `TeamMember::{call}` with a `{}`, and member {from} to `TeamMember::{}` with a `{}`: all members \
                 call the same, in the same order",
                self.number,
                type_name::<U>(),
                brought.call,
                brought.type_name
            ),
        }
    }
}

/// The same for the same call with the same type.
fn kind<U: 'static>(call: &str) -> u64 {
    FixedState::with_seed(0).hash_one((TypeId::of::<U>(), call))
}

impl Drop for TeamMember {
    /// The members that may wait for this one, or bring it something, are told that it has ended.
    fn drop(&mut self) {
        let farewell = Farewell { rounds: self.rounds.get(), has_returned: self.has_returned.get() };
        let tell = |here: &Worker| {
            for to in self.children().chain(self.parent()) {
                let worker = self.workers.trustees()[to as usize].index();
                here.leave_team(worker, Edge { team: self.team, from: self.number, to }, farewell);
            }
        };
        with_worker(tell);
    }
}

impl fmt::Debug for TeamMember {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamMember")
            .field("index", &self.number)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}
