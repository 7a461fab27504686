//! Cancelling single fibers of a worker while its runtime goes on.
//!
//! A job has a number, which is assigned once (`Worker::new_job`; to one job, or to all that are started together),
//! and a request to cancel it arrives after the job itself. So if a number names neither a fiber nor a waiting job
//! when the worker gets to it, that job is over.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::job::JobId;
use crate::worker::{Worker, with_worker};
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a `JobId` for the counter; those above name the worker that assigned it, or are zero.
const COUNT_BITS: u32 = 44;

/// Which fibers of a worker are cancelled.
#[derive(Default)]
pub(crate) struct Cancellations {
    /// Whether a blocking call has to check whether to unwind its fiber: the runtime is ending, or some fiber is
    /// cancelled.
    interrupting: Cell<bool>,
    /// Blocking calls unwind every fiber, since `main` has returned.
    all: Cell<bool>,
    /// Fibers in the middle of a job that is cancelled.
    fibers: Cell<usize>,
    /// Jobs to cancel, from the next turn's fibers on.
    requested: RefCell<Vec<JobId>>,
    /// Those of this turn, and of turns before that have left jobs to it, in order: these jobs do not begin.
    jobs: RefCell<Vec<CancelledJob>>,
    /// Jobs that have begun or were refused while some were cancelled.
    taken: Cell<u64>,
    are_requested: Cell<bool>,
    has_jobs: Cell<bool>,
}

/// A job that does not begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CancelledJob {
    id: JobId,
    /// What `taken` is once all jobs that waited when this one was cancelled are taken: it is one of them, or was
    /// over.
    last: u64,
}

impl Cancellations {
    #[inline(always)]
    pub(crate) fn interrupt(&self) -> bool {
        self.interrupting.get()
    }

    pub(super) fn cancels_all(&self) -> bool {
        self.all.get()
    }

    pub(super) fn cancel_all(&self) {
        self.all.set(true);
        self.interrupting.set(true);
    }

    pub(super) fn request(&self, job: JobId) {
        self.requested.borrow_mut().push(job);
        self.are_requested.set(true);
    }

    #[inline(always)]
    pub(super) fn are_requested(&self) -> bool {
        self.are_requested.get()
    }

    /// The requests now apply to the jobs of this turn, of which so many wait to begin. A worker that always has jobs
    /// left over never forgets all: so those whose jobs can no longer wait are forgotten here.
    pub(super) fn begin(&self, waiting: usize) {
        self.are_requested.set(false);
        let taken = self.taken.get();
        let last = taken + waiting as u64;
        let mut jobs = self.jobs.borrow_mut();
        jobs.retain(|job| job.last > taken);
        jobs.extend(self.requested.take().into_iter().map(|id| CancelledJob { id, last }));
        jobs.sort_unstable();
        jobs.dedup_by_key(|job| job.id);
        self.has_jobs.set(true);
    }

    #[inline(always)]
    pub(super) fn has_job(&self, job: JobId) -> bool {
        self.has_jobs.get() && self.jobs.borrow().binary_search_by_key(&job, |job| job.id).is_ok()
    }

    /// Whether a job does not begin whose turn it is.
    #[inline(always)]
    pub(super) fn has_next_job(&self, job: JobId) -> bool {
        if !self.has_jobs.get() {
            return false;
        }
        self.taken.set(self.taken.get() + 1);
        self.has_job(job)
    }

    /// All jobs that could be meant have begun or were refused.
    #[inline(always)]
    pub(super) fn forget_jobs(&self) {
        if self.has_jobs.replace(false) {
            self.jobs.take();
        }
    }

    /// Cancels the job of a fiber. Returns false if it was already cancelled.
    pub(super) fn cancel(&self, fiber: &Fiber) -> bool {
        let new = fiber.cancel();
        self.fibers.set(self.fibers.get() + usize::from(new));
        self.interrupting.set(true);
        new
    }

    #[inline(always)]
    pub(super) fn job_is_over(&self, fiber: &Fiber) {
        if fiber.take_cancellation() {
            self.fibers.set(self.fibers.get() - 1);
            self.interrupting.set(self.all.get() || self.fibers.get() > 0);
        }
    }
}

/// The number of a job that a worker sends under a ticket of its own.
#[inline]
pub(crate) fn job_of_ticket((worker, count): (u32, u64)) -> JobId {
    (u64::from(worker) + 1) << COUNT_BITS | count
}

/// A number for a job sent by a thread that is not a worker of its runtime.
pub(crate) fn job_of_thread() -> JobId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Worker {
    /// A number for a job that this worker makes.
    #[inline]
    pub(crate) fn new_job(&self) -> JobId {
        job_of_ticket((self.index as u32, self.new_ticket()))
    }

    /// Cancels a job that this worker has sent to a worker of any node.
    pub(crate) fn cancel_job(&self, worker: usize, job: JobId) {
        let cancel = |_: &mut Root, job: JobId| {
            with_worker(|here| here.fibers.scheduler.cancellations.request(job));
        };
        if worker == self.index {
            self.fibers.scheduler.cancellations.request(job);
        } else {
            self.tell_worker(worker, Delegated::travelling::<Root, _>(cancel), job);
        }
    }

    /// Cancels the jobs of one number that the first worker of a node has distributed to all workers of that node, or
    /// this one to those of its own: the request takes the same way.
    pub(crate) fn cancel_jobs(&self, first: usize, job: JobId) {
        if self.is_neighbour(first) {
            let workers = first..first + self.shared.mailboxes.len();
            return workers.for_each(|worker| self.cancel_job(worker, job));
        }
        let cancel = |_: &mut Root, job: JobId| with_worker(|here| here.cancel_jobs(here.shared.first, job));
        self.tell_worker(first, Delegated::travelling::<Root, _>(cancel), job);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_cancellation_is_forgotten_when_the_jobs_that_waited_with_it_have_begun() {
        const WAITING: usize = 3;
        let cancellations = Cancellations::default();
        // One job begins in each turn, and another comes. Each second one is cancelled, and one that was over.
        for turn in 0..1000 {
            let (next, newest) = (turn, turn + WAITING as JobId - 1);
            if newest % 2 == 1 {
                cancellations.request(newest);
            }
            cancellations.request(1_000_000 + turn);
            cancellations.begin(WAITING);
            assert_eq!(cancellations.has_next_job(next), next > 1 && next % 2 == 1, "{next}");
            assert!(cancellations.jobs.borrow().len() <= 2 * WAITING);
        }
    }

    #[test]
    fn a_job_that_is_cancelled_again_and_again_does_not_begin() {
        let cancellations = Cancellations::default();
        for other in 1..5 {
            cancellations.request(9);
            cancellations.begin(5);
            assert!(!cancellations.has_next_job(other));
        }
        assert!(cancellations.has_next_job(9));
        cancellations.begin(1);
        assert!(!cancellations.has_job(9));
    }
}
