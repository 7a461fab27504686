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
    jobs: RefCell<Vec<JobId>>,
    are_requested: Cell<bool>,
    has_jobs: Cell<bool>,
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

    /// The requests now apply to the jobs of this turn.
    pub(super) fn begin(&self) {
        self.are_requested.set(false);
        let mut jobs = self.jobs.borrow_mut();
        jobs.append(&mut self.requested.borrow_mut());
        jobs.sort_unstable();
        jobs.dedup();
        self.has_jobs.set(true);
    }

    #[inline(always)]
    pub(super) fn has_job(&self, job: JobId) -> bool {
        self.has_jobs.get() && self.jobs.borrow().binary_search(&job).is_ok()
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
