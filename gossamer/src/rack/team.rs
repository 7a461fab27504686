//! [`Workers`]: a group of workers, with a fiber on each.

use crate::lane::error::DelegationError;
use crate::lane::operation::refuse_captures;
use crate::rack::team_member::TeamMember;
use crate::rack::topology::in_fiber;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::trust::{Cancellers, Trustee, refuse_while_unwinding, rethrow, spawn_around};
use crate::wire::captured::Captured;
use crate::worker::fibers::wake::block_on_as;
use crate::worker::nodes::teams::TeamId;
use crate::{NoRef, WithoutCaptures};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::future::poll_fn;
use std::panic::Location;

/// An ordered group of workers: all of a rack, or chosen ones. The fibers that [`each`](Self::each) starts on them
/// can do collectives: see [`TeamMember`].
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
    /// On a thread that is not a worker.
    #[track_caller]
    #[must_use]
    pub fn all() -> Self {
        Self { trustees: Trustee::all() }
    }

    /// These workers, in this order. A worker that is listed twice has two members.
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
    /// If `trustees` is empty.
    #[track_caller]
    #[must_use]
    pub fn on(trustees: &[Trustee]) -> Self {
        assert!(!trustees.is_empty(), "`Workers::on` no trustees: nobody would do anything");
        Self { trustees: trustees.to_vec() }
    }

    /// The workers, in order.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Workers;
    /// assert_eq!(Workers::all().trustees(), gossamer::Trustee::all());
    /// # });
    /// ```
    #[must_use]
    pub fn trustees(&self) -> &[Trustee] {
        &self.trustees
    }

    /// Runs `f` in a fiber on each worker, and returns the results in their order. Each fiber gets a [`TeamMember`],
    /// with which they do collectives together.
    ///
    /// Inside `#[gossamer::main]` or `#[gossamer::delegate]` the closure may capture variables, which are cloned for
    /// each worker, if the macros see that it is handed to a `Workers`: to `Workers::all()`, `Workers::on(…)`, or a
    /// variable that comes from these or is declared as one.
    ///
    /// It costs a request to each worker, of about four bytes for each worker of the group, and an answer.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let sums = gossamer::Workers::all().each(const { |member| member.all_reduce(member.index(), |one, other| one + other) });
    /// assert_eq!(sums, [1, 1]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `f` panics on one of them: with the first such panic, after all others have ended. These are cancelled: the
    /// blocking call in which they wait, or their next one, unwinds them. If `f` cannot go to other nodes ([Delegated
    /// closures](crate::Trust#delegated-closures)); where the caller cannot wait; on a thread that is not a worker; and
    /// while the caller unwinds from a panic.
    #[track_caller]
    pub fn each<U: NoRef, F>(&self, f: F) -> Vec<U>
    where
        F: FnOnce(&TeamMember) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.start::<F, _, _, _>(move |member, ()| f(member), ())
    }

    /// Like [`each`](Self::each), with arguments, which are cloned for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let all = gossamer::Workers::all().each_with(const { |member, base| base + member.index() }, 10);
    /// assert_eq!(all, [10, 11]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`each`](Self::each), and if the arguments cannot leave this node for another.
    #[track_caller]
    pub fn each_with<C: NoRef + Clone, U: NoRef, F>(&self, f: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&TeamMember, C) -> U + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.start::<F, _, _, _>(f, arguments)
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __each_with<C: Captured + Clone, U: NoRef, F>(&self, arguments: C, f: F) -> Vec<U>
    where
        F: FnOnce(&TeamMember, C) -> U + Send + WithoutCaptures + 'static,
    {
        self.each_with(f, arguments)
    }

    /// Reports name the type `N`: the user's closure, where `f` only wraps it.
    #[track_caller]
    fn start<N, C: NoRef + Clone, U: NoRef, F>(&self, f: F, arguments: C) -> Vec<U>
    where
        F: FnOnce(&TeamMember, C) -> U + Send + Copy + 'static,
    {
        refuse_while_unwinding("starts fibers on workers and waits for them", "do it before");
        let (call, at) = ("Workers::each", Location::caller());
        let id = in_fiber(call, |here| (here.index as u32, here.new_ticket()));
        let run = move |(id, number, workers, arguments): (TeamId, u32, Self, C)| {
            let member = TeamMember::new(id, number, workers);
            let result = f(&member, arguments);
            member.note_return();
            result
        };
        let (outcomes, mut cancellers) = (FuturesUnordered::new(), Cancellers::default());
        for (number, trustee) in self.trustees.iter().enumerate() {
            let arguments = (id, number as u32, self.clone(), arguments.clone());
            let (mut pending, canceller) =
                spawn_around::<N, _, _, _>(*trustee, run, arguments, at).into_parts();
            cancellers.push(canceller);
            outcomes.push(async move { (number, poll_fn(|context| pending.poll_outcome(context)).await) });
        }
        let outcome = block_on_as(collect(outcomes, &cancellers), Wait::in_call(call).on(WaitsOn::Others));
        cancellers.forget();
        match outcome {
            Ok(results) => results,
            Err(error) => rethrow(error, at),
        }
    }
}

/// Waits for all. After the first error all others are cancelled.
async fn collect<U>(
    mut outcomes: FuturesUnordered<impl Future<Output = (usize, Result<U, DelegationError>)>>,
    cancellers: &Cancellers,
) -> Result<Vec<U>, DelegationError> {
    let mut results: Vec<Option<U>> = (0..outcomes.len()).map(|_| None).collect();
    let mut failed = None;
    while let Some((number, outcome)) = outcomes.next().await {
        match outcome {
            Ok(result) => results[number] = Some(result),
            // Later errors are consequences of the first.
            Err(_) if failed.is_some() => {}
            Err(error) => {
                failed = Some(error);
                cancellers.cancel();
            }
        }
    }
    failed.map_or_else(|| Ok(results.into_iter().flatten().collect()), Err)
}
