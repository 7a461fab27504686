//! Starting many fibers at once: one message for each node, not for each fiber.

use crate::lane::error::{DelegationError, Origin};
use crate::lane::operation::{Delegated, refuse_captures};
use crate::lane::property::{ROOT, Root};
use crate::structures::inline_closure::InlineClosure;
use crate::structures::oneshot;
use crate::sys::fibers::job::{Job, JobId};
use crate::trust::apply::rethrow;
use crate::trust::call::Target;
use crate::trust::cancel::Canceller;
use crate::trust::job::{or_printed, run_job};
use crate::trust::join::refuse_while_unwinding;
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

/// What each fiber of a range returned, or its error.
type Results<U> = Vec<Result<U, DelegationError>>;

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
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
{
    const { refuse_captures::<F>() };
    let spawned_at = Location::caller();
    let parts = worker::with(|worker| match worker {
        // They are not started any more: joining them says that the runtime has ended.
        Some(_) if refuses_fibers() => {
            let (_closed, receiver) = oneshot::channel();
            Some(vec![Part::new(count, Pending::new(receiver, Origin::of::<F>(0, spawned_at)), None)])
        }
        Some(here) => Some(spanned::start_many::<C, U, F>(here, count, f, arguments, spawned_at)),
        None => None,
    });
    match parts {
        Some(parts) => JoinMany { parts },
        None => no_runtime("spawn_many_with", ""),
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
        self.parts.into_iter().flat_map(Part::wait).collect()
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

fn all_or_printed<U>(results: Results<U>) -> Results<U> {
    results.into_iter().map(or_printed).collect()
}

/// The numbers of the fibers that some workers of `all` get.
fn share(count: usize, workers: &Range<usize>, all: usize) -> Range<usize> {
    let upto = |worker: usize| (count as u128 * worker as u128 / all as u128) as usize;
    upto(workers.start)..upto(workers.end)
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
                (move |results: Results<U>| sender.send(Ok(all_or_printed(results))), here.new_job());
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
            sender.send(or_printed(outcome.map(all_or_printed)));
        };
        let (arguments, mut canceller) = ((count, arguments.clone()), None);
        let note = |id| canceller = Some(Canceller::of_many(here, first, id));
        remote::ask::<N, _, _, _>(here, (first, target), delegated, arguments, (origin, answer), note);
        here.send_now(first);
        parts.push(Part::new(numbers.len(), pending, canceller));
    }
    parts
}

/// The fibers of one node, and their outcomes.
struct Batch<U> {
    first: usize,
    state: Mutex<BatchState<U>>,
}

struct BatchState<U> {
    results: Vec<Option<Result<U, DelegationError>>>,
    missing: usize,
    done: Option<Box<dyn FnOnce(Results<U>) + Send>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No code of the program runs under the lock.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<U> Batch<U> {
    fn finish(&self, number: usize, outcome: Result<U, DelegationError>) {
        let last = {
            let mut state = lock(&self.state);
            state.results[number - self.first] = Some(outcome);
            state.missing -= 1;
            if state.missing > 0 {
                return;
            }
            (state.done.take(), std::mem::take(&mut state.results))
        };
        if let (Some(done), results) = last {
            done(results.into_iter().flatten().collect());
        }
    }
}

/// The fibers of one worker: their numbers, and what each gets.
type ShareOfWorker<C> = (Range<usize>, Vec<C>);

/// What each worker of this node gets of `count` fibers.
fn shares_here<C: Clone>(here: &Worker, count: usize, arguments: &C) -> Vec<ShareOfWorker<C>> {
    let share = |worker| {
        let numbers = share(count, &(worker..worker + 1), here.shared.workers());
        // Here, where `clone`, which is the program's code, cannot wait.
        let arguments = vec![arguments.clone(); numbers.len()];
        (numbers, arguments)
    };
    (here.shared.first..here.shared.first + here.shared.mailboxes.len()).map(share).collect()
}

/// Starts this node's fibers on its workers.
fn start_here<N: 'static, C: NoRef + Clone, U: NoRef, F>(
    here: &Worker,
    shares: Vec<ShareOfWorker<C>>,
    f: F,
    (spawned_at, id): (&'static Location<'static>, JobId),
    done: impl FnOnce(Results<U>) + Send + 'static,
) where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
{
    let count = shares.iter().map(|(numbers, _)| numbers.len()).sum();
    let state = BatchState {
        results: (0..count).map(|_| None).collect(),
        missing: count,
        done: Some(Box::new(done)),
    };
    let first = shares.first().map_or(0, |(numbers, _)| numbers.start);
    let batch = Arc::new(Batch { first, state: Mutex::new(state) });
    for (worker, (numbers, arguments)) in (here.shared.first..).zip(shares) {
        let share = Share { numbers, arguments, batch: Arc::clone(&batch), f, spawned_at, id };
        if worker == here.index {
            share.arrive::<N>(here);
        } else {
            let arrive = |_: &mut Root, share: Share<C, U, F>| with_worker(|here| share.arrive::<N>(here));
            here.tell(worker, Delegated::of::<N, _>(arrive), share);
            here.send_now(worker);
        }
    }
}

/// One worker's share of a node's fibers.
struct Share<C, U, F> {
    numbers: Range<usize>,
    arguments: Vec<C>,
    batch: Arc<Batch<U>>,
    f: F,
    spawned_at: &'static Location<'static>,
    id: JobId,
}

impl<C: NoRef + Clone, U: NoRef, F> Share<C, U, F>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
{
    fn arrive<N>(self, here: &Worker) {
        let Self { numbers, arguments, batch, f, spawned_at, id } = self;
        let origin = Origin::of::<N>(here.index as u32, spawned_at);
        for (number, arguments) in numbers.zip(arguments) {
            let batch = Arc::clone(&batch);
            let start = InlineClosure::new(move |start| {
                run_job(move || f(number, arguments), start, origin, |outcome| batch.finish(number, outcome));
            });
            here.fibers.scheduler.submit(Job { start, spawned_at, id });
        }
    }
}

impl Asked {
    /// Sends the results of a node's fibers to the worker that asked.
    fn answer<U: NoRef>(self, results: Results<U>) {
        let origin = self.origin::<U>();
        self.send(remote::encoded(results, origin));
    }
}
