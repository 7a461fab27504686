//! Starting many fibers at once: one message for each node, not for each fiber.

use crate::WithoutCaptures;
use crate::lane::error::{DelegationError, Origin};
use crate::lane::operation::{Delegated, refuse_captures};
use crate::lane::property::{ROOT, Root};
use crate::structures::oneshot;
use crate::trust::apply::rethrow;
use crate::trust::call::Target;
use crate::trust::cancel::{Canceller, Cancellers};
use crate::trust::job::or_printed;
use crate::trust::join::refuse_while_unwinding;
use crate::trust::node_fibers::{Results, share, shares_here, start_here};
use crate::trust::remote::{self, Asked};
use crate::trust::spanned;
use crate::trust::spawn::refuses_fibers;
use crate::trust::{NoRef, Pending};
use crate::worker::{self, Worker, no_runtime, with_worker};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem;
use std::ops::Range;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Starts `count` fibers, spread over all workers of all nodes in ranges of neighbouring numbers, and returns at once. Each
/// gets its number, from 0, and a clone of `arguments`.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let squares = gossamer::spawn_many_with(1000, |number, offset| number * number + offset, 1_usize).join();
/// assert_eq!(squares[10], 101);
/// # });
/// ```
///
/// # Panics
/// On a thread that is not a worker.
#[track_caller]
pub fn spawn_many_with<C: NoRef + Clone, U: NoRef, F>(count: usize, f: F, arguments: C) -> JoinMany<U>
where
    F: FnOnce(usize, C) -> U + Send + WithoutCaptures + 'static,
{
    const { refuse_captures::<F>() };
    start::<F, _, _, _>("spawn_many_with", count, f, arguments)
}

/// Like `spawn_many_with`, by the name of `call`. Reports name the type `N`: the user's closure, where `f` only wraps
/// it.
#[track_caller]
pub(super) fn start<N: 'static, C: NoRef + Clone, U: NoRef, F>(
    call: &str,
    count: usize,
    f: F,
    arguments: C,
) -> JoinMany<U>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
{
    let spawned_at = Location::caller();
    let parts = worker::with(|worker| match worker {
        // They are not started any more: joining them says that the runtime has ended.
        Some(_) if refuses_fibers() => {
            let (_closed, receiver) = oneshot::channel();
            Some(vec![Part::new(count, Pending::new(receiver, Origin::of::<N>(0, spawned_at)), None)])
        }
        Some(here) => Some(spanned::start_many::<N, C, U, F>(here, count, f, arguments, spawned_at)),
        None => None,
    });
    match parts {
        Some(parts) => JoinMany { parts },
        None => no_runtime(call, ""),
    }
}

/// The fibers that [`spawn_many_with`] started. Dropping it detaches them.
///
/// It is also a future of what [`join`](Self::join) returns, and panics in the same way:
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use std::time::Duration;
/// let mut sleepers = gossamer::spawn_many_with(100, |_, ()| gossamer::sleep(Duration::from_secs(3600)), ());
/// if gossamer::timeout(Duration::from_millis(5), &mut sleepers).is_err() {
///     sleepers.cancel();
/// }
/// assert!(sleepers.try_join().iter().all(|outcome| outcome.is_err()));
/// # });
/// ```
#[must_use = "fibers that nobody joins are cancelled when main returns"]
pub struct JoinMany<U> {
    parts: Vec<Part<U>>,
}

/// The fibers of a node.
pub(super) struct Part<U> {
    count: usize,
    state: PartState<U>,
    canceller: Option<Canceller>,
}

enum PartState<U> {
    Awaited(Pending<Results<U>>),
    Ended(Results<U>),
}

impl<U> Part<U> {
    fn new(count: usize, pending: Pending<Results<U>>, canceller: Option<Canceller>) -> Self {
        Self { count, state: PartState::Awaited(pending), canceller }
    }

    #[track_caller]
    fn wait(self) -> Results<U> {
        match self.state {
            PartState::Ended(results) => results,
            PartState::Awaited(pending) => {
                let origin = pending.origin();
                of_each(self.count, origin, pending.try_wait())
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let PartState::Awaited(pending) = &mut self.state {
            let origin = pending.origin();
            let outcome = ready!(pending.poll_outcome(context));
            self.state = PartState::Ended(of_each(self.count, origin, outcome));
        }
        Poll::Ready(())
    }
}

/// The outcome of each of `count` fibers.
fn of_each<U>(count: usize, origin: Origin, outcome: Result<Results<U>, DelegationError>) -> Results<U> {
    match outcome {
        Ok(results) => {
            results.into_iter().map(|result| result.map_err(|error| origin.complete(error))).collect()
        }
        // Nothing else is known about any of them.
        Err(error) => (0..count).map(|_| Err(error.clone())).collect(),
    }
}

impl<U> JoinMany<U> {
    /// Waits until all fibers have ended, and returns their results in the order of their numbers.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let multiples = gossamer::spawn_many_with(4, |number, of| number * of, 3); // 4 fibers, spread over the workers
    /// assert_eq!(multiples.join(), [0, 3, 6, 9]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If one panicked (with the message of the first), could not get a stack or was cancelled; in a delegated closure or a
    /// callback, which cannot wait; and while the caller unwinds from a panic.
    #[track_caller]
    pub fn join(self) -> Vec<U> {
        let (joined_at, mut results) = (Location::caller(), Vec::new());
        for result in self.try_join() {
            match result {
                Ok(result) => results.push(result),
                Err(error) => rethrow(error, joined_at),
            }
        }
        results
    }

    /// Like [`join`](Self::join), with the outcome of each.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let fibers = gossamer::spawn_many_with(3, |number, by: usize| 6 / (by - number), 1);
    /// let results = fibers.try_join();
    /// assert_eq!(results[0], Ok(6));
    /// assert!(results[1].is_err()); // 6 / 0
    /// # });
    /// ```
    ///
    /// # Errors
    /// In the list, for each fiber that panicked, could not get a stack or was cancelled.
    ///
    /// # Panics
    /// Where it cannot wait.
    #[track_caller]
    pub fn try_join(self) -> Vec<Result<U, DelegationError>> {
        refuse_while_unwinding("joins fibers", "join them before, or detach them");
        let mut results = Vec::new();
        // Not in a closure, which would hide the caller's line from reports.
        for part in self.parts {
            results.extend(part.wait());
        }
        results
    }

    /// What cancels them when a call that waits for them ends before they do.
    pub(super) fn cancellers(&self) -> Cancellers {
        let mut cancellers = Cancellers::default();
        self.parts.iter().for_each(|part| cancellers.push(part.canceller.clone()));
        cancellers
    }

    /// Cancels the fibers that have not ended, on whichever nodes they are, as
    /// [`JoinHandle::cancel`](crate::JoinHandle::cancel) does, without waiting. It costs a message for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use std::time::Duration;
    /// let fibers = gossamer::spawn_many_with(100, |_, time| gossamer::sleep(time), Duration::from_secs(3600));
    /// fibers.cancel();
    /// assert!(fibers.try_join().iter().all(Result::is_err)); // at once, not in an hour
    /// # });
    /// ```
    pub fn cancel(&self) {
        let awaited = self.parts.iter().filter(|part| matches!(part.state, PartState::Awaited(_)));
        awaited.filter_map(|part| part.canceller.as_ref()).for_each(Canceller::cancel);
    }
}

impl<U> Future for JoinMany<U> {
    type Output = Vec<U>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<U>> {
        for part in &mut self.parts {
            ready!(part.poll(context));
        }
        let results = mem::take(&mut self.parts).into_iter().flat_map(Part::wait);
        Poll::Ready(results.map(|result| result.unwrap_or_else(|error| panic!("{error}"))).collect())
    }
}

impl<U> Unpin for JoinMany<U> {}

impl<U> fmt::Debug for JoinMany<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JoinMany").field("nodes", &self.parts.len()).finish_non_exhaustive()
    }
}

fn all_or_printed<U>(results: Results<U>, origin: Origin) -> Results<U> {
    results.into_iter().map(|result| or_printed(result, origin)).collect()
}

/// Reports name the type `N`, here and below: the user's closure, where `f` only wraps it.
pub(super) fn start_as_it_is<N: 'static, C: NoRef + Clone, U: NoRef, F>(
    here: &Worker,
    count: usize,
    f: F,
    arguments: &C,
    spawned_at: &'static Location<'static>,
) -> Vec<Part<U>>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
{
    let (shared, all) = (&here.shared, here.shared.workers());
    let nodes: Vec<Range<usize>> = match &shared.peers {
        Some(peers) => (0..peers.nodes()).map(|node| peers.workers_of(node)).collect(),
        None => std::iter::once(0..all).collect(),
    };
    let mut parts = Vec::new();
    for workers in nodes {
        let (numbers, first) = (share(count, &workers, all), workers.start);
        if numbers.is_empty() {
            continue;
        }
        let (sender, receiver) = oneshot::channel();
        let origin = Origin::of::<N>(first as u32, spawned_at);
        let pending = Pending::new(receiver, origin);
        if here.is_neighbour(first) {
            let (done, id) =
                (move |results: Results<U>| sender.send(Ok(all_or_printed(results, origin))), here.new_job());
            start_here::<N, C, U, F>(here, shares_here(here, count, arguments), f, (spawned_at, id), done);
            let canceller = Canceller::of_many(here, first, id);
            parts.push(Part::new(numbers.len(), pending, Some(canceller)));
            continue;
        }
        let arrive = move |_: &mut Root, (asked, (count, arguments)): (Asked, (usize, C))| {
            with_worker(|here| {
                // Before it is accepted, so that a panic of `clone` is the answer.
                let shares = shares_here(here, count, &arguments);
                let (origin, asked) = ((asked.at(), asked.job_id()), asked.accept());
                let done = move |results| asked.answer(results);
                start_here::<N, C, U, F>(here, shares, f, origin, done);
            });
        };
        let target = Target { shared, number: shared.base + first as u32, property: ROOT, of: PhantomData };
        let delegated = Delegated::travelling::<N, _>(arrive);
        let answer = move |outcome: Result<Results<U>, DelegationError>| {
            sender.send(or_printed(outcome.map(|results| all_or_printed(results, origin)), origin));
        };
        let (arguments, mut canceller) = ((count, arguments.clone()), None);
        let note = |id| canceller = Some(Canceller::of_many(here, first, id));
        remote::ask::<N, _, _, _>(here, (first, target), delegated, arguments, (origin, answer), note);
        here.send_now(first);
        parts.push(Part::new(numbers.len(), pending, canceller));
    }
    parts
}

impl Asked {
    /// Sends the results of a node's fibers to the worker that asked.
    fn answer<U: NoRef>(self, results: Results<U>) {
        let origin = self.origin::<U>();
        self.send(remote::encoded(results, origin));
    }
}
