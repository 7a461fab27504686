//! Cancelling a fiber by its handle: the request takes the same path as the fiber, so it never arrives first.

use crate::sys::fibers::job::JobId;
use crate::sys::fibers::wait::WaitsOn;
use crate::trust::Trustee;
use crate::worker::fibers::cancel::job_of_thread;
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a handle knows about the way to its fiber.
#[derive(Clone)]
pub(crate) struct Canceller {
    /// Process-wide number of the worker of this node that sent the fiber, or that has it.
    by: u32,
    /// It was sent through the inbox of that worker.
    by_inbox: bool,
    /// Index of the fiber's worker; of many, of the first worker of their node.
    worker: u32,
    /// The fibers are many, on all workers of that node.
    is_of_many: bool,
    job: SentJob,
}

/// Cancels the fibers that a call has started if the call ends before they do: when its caller is cancelled, or when
/// an argument for a later fiber cannot be made.
#[derive(Default)]
pub(crate) struct Cancellers(Vec<Option<Canceller>>);

impl Cancellers {
    pub(crate) fn push(&mut self, canceller: Option<Canceller>) {
        self.0.push(canceller);
    }

    pub(crate) fn cancel(&self) {
        self.0.iter().flatten().for_each(Canceller::cancel);
    }

    /// All fibers have ended.
    pub(crate) fn forget(mut self) {
        self.0.clear();
    }
}

impl Drop for Cancellers {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Names the job of a handle.
#[derive(Clone)]
pub(crate) enum SentJob {
    Known(JobId),
    /// Noted by the worker that sends it, which assigns the number.
    Noted(Arc<AtomicU64>),
}

impl SentJob {
    pub(super) fn id(&self) -> Option<JobId> {
        let id = match self {
            Self::Known(id) => *id,
            // Relaxed: noted by the thread that looks, or before the message that has it look.
            Self::Noted(id) => id.load(Ordering::Relaxed),
        };
        Some(id).filter(|id| *id > 0)
    }
}

/// Notes the number of a job for its handle.
pub(crate) fn note(job: &AtomicU64, id: JobId) {
    // Relaxed: see `SentJob::id`.
    job.store(id, Ordering::Relaxed);
}

/// A number for a job that the caller sends to a trustee of its node; and the number of the worker that sends it, if it is one.
#[inline]
pub(super) fn new_job_at(trustee: u32) -> (Option<u32>, JobId) {
    let sent = worker::with(|worker| {
        let here = worker.filter(|here| here.index_of(trustee).is_some())?;
        Some((Some(here.number), here.new_job()))
    });
    sent.unwrap_or_else(|| (None, job_of_thread()))
}

impl Canceller {
    /// Of a job of this worker.
    pub(crate) fn here(here: &Worker, job: JobId) -> Self {
        Self {
            by: here.number,
            by_inbox: false,
            worker: here.index as u32,
            is_of_many: false,
            job: SentJob::Known(job),
        }
    }

    /// Of jobs that this worker started on all workers of the node whose first worker is `first`.
    pub(crate) fn of_many(here: &Worker, first: usize, job: JobId) -> Self {
        Self { is_of_many: true, worker: first as u32, ..Self::here(here, job) }
    }

    /// Of a job that the caller sends to a trustee of its node, and its number.
    #[inline]
    pub(crate) fn of_neighbour(trustee: Trustee, index: u32) -> (Self, JobId) {
        let (sender, id) = new_job_at(trustee.number());
        let (by, by_inbox) = (sender.unwrap_or(trustee.number()), sender.is_none());
        (Self { by, by_inbox, worker: index, is_of_many: false, job: SentJob::Known(id) }, id)
    }

    /// Of a job that the caller sends, or has a worker send, to a trustee of another node; and where that notes its number.
    pub(crate) fn of_another_node(trustee: Trustee, index: u32) -> (Self, Arc<AtomicU64>) {
        let sender = worker::with(|worker| {
            worker.filter(|here| here.index_of(trustee.number()).is_some()).map(|here| here.number)
        });
        let by_inbox = sender.is_none();
        let first =
            || Shared::find(trustee.number()).map_or(0, |(shared, _)| shared.base + shared.first as u32);
        let id = Arc::new(AtomicU64::new(0));
        let job = SentJob::Noted(Arc::clone(&id));
        (Self { by: sender.unwrap_or_else(first), by_inbox, worker: index, is_of_many: false, job }, id)
    }

    /// What a fiber that joins this one waits for, if this is a single fiber.
    pub(crate) fn awaited(&self) -> Option<WaitsOn> {
        let job = self.job.id().filter(|_| !self.is_of_many)?;
        Some(WaitsOn::Job { worker: self.worker, job })
    }

    /// Asks the fiber's worker to cancel it. Never waits.
    pub(crate) fn cancel(&self) {
        let (worker, is_of_many, job) = (self.worker as usize, self.is_of_many, self.job.clone());
        let cancel = move |here: &Worker| match job.id() {
            Some(id) if is_of_many => here.cancel_jobs(worker, id),
            Some(id) => here.cancel_job(worker, id),
            None => {}
        };
        worker::with(|current| match current.filter(|here| here.number == self.by && !self.by_inbox) {
            Some(here) => cancel(here),
            None => {
                if let Some((shared, index)) = Shared::find(self.by) {
                    // Refused only once the runtime has ended, and its fibers with it.
                    let _ended = shared.mailbox(index).send(Message::Act(Box::new(cancel)));
                }
            }
        });
    }
}
