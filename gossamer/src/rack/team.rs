//! [`Workers`]: some workers, on each of which a fiber does its part of something; and [`Member`]: one of those fibers, as it
//! knows the others.
//!
//! A collective is a reduction up a binomial tree, and the same tree down. Member `i` has as its parent `i` without its lowest bit, so
//! each subtree is a row of members, values are combined in their order, and there are at most as many levels as the number of members
//! has bits. Over the edge at the top both halves are exchanged, which saves a step. Members in the order of workers are in the order of nodes,
//! so most edges stay inside one.

use crate::NoRef;
use crate::lane::error::DelegationError;
use crate::lane::operation::refuse_captures;
use crate::rack::topology::on_worker;
use crate::trust::{Canceller, Trustee, refuse_while_unwinding, rethrow, spawn_around};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::worker::fibers::wake::block_on;
use crate::worker::nodes::teams::{BroughtValue, Farewell, TeamId, Way};
use crate::worker::{Worker, with_worker};
use foldhash::fast::FixedState;
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::any::{TypeId, type_name};
use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::hash::BuildHasher;
use std::marker::PhantomData;
use std::panic::Location;

/// Some workers, in an order: all of a rack, or those that are chosen for something. What is done on [`each`](Self::each) of them
/// can be done together: see [`Member`].
///
/// ```
/// use gossamer::{Config, Trustee, Workers};
/// # gossamer::run(Config::default().threads(3), || {
/// assert_eq!(Workers::all().each(const { |member| member.index() }), [0, 1, 2]);
/// let some = Workers::on(&Trustee::all()[1..]);
/// assert_eq!(some.each(const { |_| Trustee::here().index() }), [1, 2]);
/// # });
/// ```
#[derive(Clone, Debug, PartialEq, Eq, NoRef)]
pub struct Workers {
    trustees: Vec<Trustee>,
}

impl Workers {
    /// All workers of all nodes, in the order of [`Trustee::all`].
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// assert_eq!(gossamer::Workers::all().trustees(), gossamer::Trustee::all());
    /// # });
    /// ```
    ///
    /// # Panics
    /// On a thread that is no worker.
    #[track_caller]
    #[must_use]
    pub fn all() -> Self {
        Self { trustees: Trustee::all() }
    }

    /// These workers, in this order. One that is there twice has two members.
    ///
    /// ```
    /// # use gossamer::{Config, Workers, rack};
    /// rack::run_in_process(2, Config::default().threads(2), || {
    ///     let of_one_node = Workers::on(&rack::nodes()[1].workers());
    ///     assert_eq!(of_one_node.each(const { |_| rack::this_node().index() }), [1, 1]);
    /// });
    /// ```
    ///
    /// # Panics
    /// If there are none.
    #[track_caller]
    #[must_use]
    pub fn on(trustees: &[Trustee]) -> Self {
        assert!(!trustees.is_empty(), "`Workers::on` no trustees: nobody would do anything");
        Self { trustees: trustees.to_vec() }
    }

    /// The workers, in their order.
    #[must_use]
    pub fn trustees(&self) -> &[Trustee] {
        &self.trustees
    }

    /// Runs `f` in a fiber on each worker, and returns the results in their order. The fibers are given a [`Member`] by which they do
    /// collectives together.
    ///
    /// It costs a request to each worker, of about four bytes for each that there is, and an answer.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let sums = gossamer::Workers::all().each(const { |member| member.all_reduce(member.index(), |one, other| one + other) });
    /// assert_eq!(sums, [1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `f` panics on one of them: with the first such panic, once all others have ended, which are cancelled: their next blocking
    /// call unwinds them, and so does the one in which they wait for that member. If `f` captures, or does not go to other nodes
    /// ([Delegated closures](crate::Trust#delegated-closures)); where the caller cannot wait; on a thread that is no worker; and while
    /// the caller unwinds from a panic.
    #[track_caller]
    pub fn each<U: NoRef, F>(&self, f: F) -> Vec<U>
    where
        F: FnOnce(&Member) -> U + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.start::<F, _, _, _>(move |member, ()| f(member), ())
    }

    /// As [`each`](Self::each), with arguments, which are cloned for each.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let all = gossamer::Workers::all().each_with(const { |member, base| base + member.index() }, 10);
    /// assert_eq!(all, [10, 11]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// As [`each`](Self::each), and if the arguments cannot leave this node for another.
    #[track_caller]
    pub fn each_with<C: NoRef + Clone, U: NoRef, F>(&self, f: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&Member, C) -> U + Send + Copy + 'static,
    {
        const { refuse_captures::<F>() };
        self.start::<F, _, _, _>(f, arguments)
    }

    /// Reports name the type `N`: the user's closure, where `f` only wraps it.
    #[track_caller]
    fn start<N, C: NoRef + Clone, U: NoRef, F>(&self, f: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&Member, C) -> U + Send + Copy + 'static,
    {
        refuse_while_unwinding("starts fibers on workers and waits for them", "do it before");
        let (call, at) = ("Workers::each", Location::caller());
        let id = on_worker(call, |here| {
            here.require_fiber(call);
            (here.index as u32, here.new_ticket())
        });
        let run = move |(id, number, workers, arguments): (TeamId, u32, Self, C)| {
            let member = Member::new(id, number, workers);
            let result = f(&member, arguments);
            member.has_returned.set(true);
            result
        };
        let (outcomes, mut cancellers) = (FuturesUnordered::new(), Cancellers(Vec::new()));
        for (number, trustee) in self.trustees.iter().enumerate() {
            let arguments = (id, number as u32, self.clone(), arguments.clone());
            let (mut pending, canceller) =
                spawn_around::<N, _, _, _>(*trustee, run, arguments, at).into_parts();
            cancellers.0.push(canceller);
            outcomes.push(async move { (number, poll_fn(|context| pending.poll_outcome(context)).await) });
        }
        let outcome = block_on(cancellers.collect(outcomes), call);
        cancellers.0.clear();
        outcome.unwrap_or_else(|error| rethrow(error, at))
    }
}

/// What cancels the members of a team, if whoever waits for them is cancelled itself.
struct Cancellers(Vec<Option<Canceller>>);

impl Cancellers {
    /// Waits for all. After the first error all others are cancelled.
    async fn collect<U>(
        &self,
        mut outcomes: FuturesUnordered<impl Future<Output = (usize, Result<U, DelegationError>)>>,
    ) -> Result<Vec<U>, DelegationError> {
        let mut results: Vec<Option<U>> = self.0.iter().map(|_| None).collect();
        let mut failed = None;
        while let Some((number, outcome)) = outcomes.next().await {
            match outcome {
                Ok(result) => results[number] = Some(result),
                // They have failed because of the first.
                Err(_) if failed.is_some() => {}
                Err(error) => {
                    failed = Some(error);
                    self.cancel();
                }
            }
        }
        failed.map_or_else(|| Ok(results.into_iter().flatten().collect()), Err)
    }

    fn cancel(&self) {
        self.0.iter().flatten().for_each(Canceller::cancel);
    }
}

impl Drop for Cancellers {
    fn drop(&mut self) {
        self.cancel();
    }
}

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
pub struct Member {
    team: TeamId,
    number: u32,
    workers: Workers,
    /// Rounds it has come to.
    rounds: Cell<u64>,
    has_returned: Cell<bool>,
    /// It stays in its fiber.
    stays: PhantomData<*const ()>,
}

impl Member {
    fn new(team: TeamId, number: u32, workers: Workers) -> Self {
        let (rounds, has_returned) = (Cell::new(0), Cell::new(false));
        Self { team, number, workers, rounds, has_returned, stays: PhantomData }
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
        self.workers.trustees.len()
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
        let way = Way { team: self.team, from: self.number, to };
        on_worker(call, |here| {
            let worker = self.workers.trustees[to as usize].index();
            if here.is_neighbour(worker) {
                return here.bring_here(worker, (way, round), call, value);
            }
            let bytes = Encoder::encoded(value)
                .unwrap_or_else(|refused| panic!("`Member::{call}`: {}", refused.into_refusal()));
            here.bring_encoded(worker, (way, round), (call, type_name::<U>(), kind::<U>(call)), bytes);
        });
    }

    #[track_caller]
    fn take<U: NoRef>(&self, call: &'static str, from: u32, round: u64) -> U {
        let way = Way { team: self.team, from, to: self.number };
        let brought = match on_worker(call, |here| here.await_brought(way, round)) {
            Ok(brought) => brought,
            Err(Farewell { rounds, .. }) => panic!(
                "member {} waits in `Member::{call}` for member {from}, which has returned after {rounds} collectives: all members call \
                 the same, in the same order",
                self.number
            ),
        };
        match brought.value {
            BroughtValue::Here(value) if brought.call == call && value.is::<U>() => match value.downcast() {
                Ok(value) => *value,
                Err(_) => unreachable!("it is of this type"),
            },
            BroughtValue::Encoded(of, bytes) if of == kind::<U>(call) => {
                Decoder::decoded(&bytes).unwrap_or_else(|malformed| panic!("`Member::{call}`: {malformed}"))
            }
            _ => panic!(
                "member {} came to `Member::{call}` with a `{}`, and member {from} to `Member::{}` with a `{}`: all members \
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

impl Drop for Member {
    /// The members that may wait for this one, or bring it something, are told that it has ended.
    fn drop(&mut self) {
        let farewell = Farewell { rounds: self.rounds.get(), has_returned: self.has_returned.get() };
        let tell = |here: &Worker| {
            for to in self.children().chain(self.parent()) {
                let worker = self.workers.trustees[to as usize].index();
                here.leave_team(worker, Way { team: self.team, from: self.number, to }, farewell);
            }
        };
        with_worker(tell);
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member")
            .field("index", &self.number)
            .field("count", &self.count())
            .finish_non_exhaustive()
    }
}
