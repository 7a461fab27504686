//! [`TeamMember`]: one fiber of a team, and its collectives.
//!
//! A collective is a [`CollectiveRound`] of all members.

use crate::NoRef;
use crate::rack::round::{Collective, CollectiveRound, LeftRound, Participants};
use crate::rack::team::Workers;
use crate::rack::topology::in_fiber;
use crate::structures::tree::Tree;
use crate::trust::refuse_while_unwinding;
use crate::worker::nodes::teams::{Edge, Farewell, TeamId};
use crate::worker::{Worker, with_worker};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

/// One of the fibers that [`Workers::each`] has started, for collectives with the others.
///
/// Each collective is called by all members, in the same order. Different teams, even on the same workers, do not
/// disturb each other. If a member calls a different collective, or returns while others wait for it, these panic
/// with a report; and so does [`Workers::each`].
///
/// With `n` members a collective takes `2 (n - 1)` requests, and the time of at most `2 log2 n - 1` of them, one after
/// another, for `n` a power of two: a reduction up a binomial tree, and the result down. A request carries the
/// contribution; between nodes also the names of the call and the type, and 40 bytes.
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
    /// Rounds that it has taken part in.
    rounds: Cell<u64>,
    /// The last of them, if a panic ended it before its result was there.
    left: Cell<Option<LeftRound>>,
    has_returned: Cell<bool>,
    /// It stays in its fiber.
    stays: PhantomData<*const ()>,
}

impl TeamMember {
    pub(super) fn new(team: TeamId, number: u32, workers: Workers) -> Self {
        let (rounds, left, has_returned) = (Cell::new(0), Cell::new(None), Cell::new(false));
        Self { team, number, workers, rounds, left, has_returned, stays: PhantomData }
    }

    /// The fiber has returned, without a panic.
    pub(super) fn note_return(&self) {
        self.fail_in_left_round();
        self.has_returned.set(true);
    }

    /// Its index among the members, from 0.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Workers;
    /// let indices = Workers::all().each(|member| member.index());
    /// assert_eq!(indices, [0, 1]);
    /// # });
    /// ```
    #[must_use]
    pub fn index(&self) -> usize {
        self.number as usize
    }

    /// The number of members.
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
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Trustee, Workers};
    /// let last = Workers::all().each(const { |member| member.workers().trustees().last() == Some(&Trustee::here()) });
    /// assert_eq!(last, [false, true]);
    /// # });
    /// ```
    #[must_use]
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Waits until all members have called it.
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
    /// If another member calls a different collective, has returned, or has left this one by a panic that it caught;
    /// in a delegated closure or a callback, which cannot wait; and while the fiber unwinds from a panic. If it is
    /// cancelled, it is unwound.
    #[track_caller]
    pub fn barrier(&self) {
        self.meet(Collective::of::<()>("TeamMember::barrier"), (), |(), ()| ());
    }

    /// Gives every member the values of all, in order.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let all = gossamer::Workers::all().each(const { |member| member.gather(member.index() * 10) });
    /// assert_eq!(all, [[0, 10], [0, 10]]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`barrier`](Self::barrier); and if the value cannot leave its node.
    #[track_caller]
    pub fn gather<U: NoRef + Clone>(&self, value: U) -> Vec<U> {
        self.meet(Collective::of::<U>("TeamMember::gather"), vec![value], |mut all, more| {
            all.extend(more);
            all
        })
    }

    /// Combines the values of the members, in order, and gives every member the result. `combine` must be
    /// associative: the grouping depends only on the number of members. Two of the members each combine the last two
    /// halves, so `combine` must also be deterministic.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let most = gossamer::Workers::all().each(const { |member| member.all_reduce(member.index(), usize::max) });
    /// assert_eq!(most, [1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`gather`](Self::gather), and if `combine` panics.
    #[track_caller]
    pub fn all_reduce<U: NoRef + Clone>(&self, value: U, combine: impl FnMut(U, U) -> U) -> U {
        self.meet(Collective::of::<U>("TeamMember::all_reduce"), value, combine)
    }

    #[track_caller]
    fn meet<U: NoRef + Clone>(&self, call: Collective, value: U, combine: impl FnMut(U, U) -> U) -> U {
        refuse_while_unwinding("waits for other members", "come to the collective before");
        in_fiber(call.name, |_| ());
        self.fail_in_left_round();
        let number = self.rounds.replace(self.rounds.get() + 1);
        let round = CollectiveRound::new(self.participants(), self.tree(), number, call);
        let _noted = NotedIfLeft { member: self, round: &round };
        match round.meet(value, combine) {
            Ok(result) => result,
            Err(why) => panic!("{why}"),
        }
    }

    /// If the fiber has caught the panic that ended its last round, the other members are told now that it goes on.
    /// Otherwise the fiber that started the team learns of the panic first, and ends the others.
    fn fail_in_left_round(&self) {
        let Some(left) = self.left.take() else { return };
        let (number, name) = (self.number, left.call.name);
        let why = format!(
            "member {number} has left `{name}` by a panic, which it caught: there is no result for the others"
        );
        let round = CollectiveRound::again(self.participants(), self.tree(), left);
        with_worker(|here| round.fail(here, &why));
    }

    fn participants(&self) -> Participants<impl Fn(&Worker, u32) -> usize> {
        Participants {
            team: self.team,
            worker_of: |_: &Worker, member| self.worker_of(member),
            one: "member",
            rule: "all members call the same, in the same order",
        }
    }

    fn tree(&self) -> Tree {
        Tree { number: self.number, count: self.count() as u32 }
    }

    fn worker_of(&self, member: u32) -> usize {
        self.workers.trustees()[member as usize].index()
    }
}

/// Notes that a member has left a round, if it has not got the result.
struct NotedIfLeft<'a, F: Fn(&Worker, u32) -> usize> {
    member: &'a TeamMember,
    round: &'a CollectiveRound<F>,
}

impl<F: Fn(&Worker, u32) -> usize> Drop for NotedIfLeft<'_, F> {
    fn drop(&mut self) {
        self.member.left.set(self.round.left());
    }
}

impl Drop for TeamMember {
    /// Tells the members that may wait for this one, or send to it, that it has ended.
    fn drop(&mut self) {
        let farewell = Farewell { rounds: self.rounds.get(), has_returned: self.has_returned.get() };
        let tell = |here: &Worker| {
            for to in self.tree().neighbours() {
                here.leave_team(
                    self.worker_of(to),
                    Edge { team: self.team, from: self.number, to },
                    farewell,
                );
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
