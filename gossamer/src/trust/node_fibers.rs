//! The fibers of one node that [`spawn_many_with`](crate::spawn_many_with) starts there: a message for each worker, and
//! one answer for all.

use crate::lane::error::{DelegationError, Origin};
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::structures::inline_closure::InlineClosure;
use crate::sys::fibers::job::{Job, JobId};
use crate::trust::NoRef;
use crate::trust::job::run_job;
use crate::worker::{Worker, with_worker};
use std::ops::Range;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What each fiber of a range returned, or its error.
pub(super) type Results<U> = Vec<Result<U, DelegationError>>;

/// The numbers of the fibers that some workers of `all` get.
pub(super) fn share(count: usize, workers: &Range<usize>, all: usize) -> Range<usize> {
    let upto = |worker: usize| (count as u128 * worker as u128 / all as u128) as usize;
    upto(workers.start)..upto(workers.end)
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
pub(super) type ShareOfWorker<C> = (Range<usize>, Vec<C>);

/// What each worker of this node gets of `count` fibers.
pub(super) fn shares_here<C: Clone>(here: &Worker, count: usize, arguments: &C) -> Vec<ShareOfWorker<C>> {
    let share = |worker| {
        let numbers = share(count, &(worker..worker + 1), here.shared.workers());
        // Here, where `clone`, which is the program's code, cannot wait.
        let arguments = vec![arguments.clone(); numbers.len()];
        (numbers, arguments)
    };
    (here.shared.first..here.shared.first + here.shared.mailboxes.len()).map(share).collect()
}

/// Starts this node's fibers on its workers.
pub(super) fn start_here<N: 'static, C: NoRef + Clone, U: NoRef, F>(
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
