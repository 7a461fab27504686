//! What workers report when they are asked: what their fibers do, and what else they have to do.

use crate::sys::fibers::fiber::{Fiber, FiberState};
use crate::sys::fibers::job::JobId;
use crate::sys::fibers::wait::{AnswerWait, FiberName, Wait};
use crate::worker::Worker;
use crate::worker::mailbox::inbox::Message;
use crate::worker::shared::Shared;
use std::panic::Location;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a worker may take to report.
const ANSWERS: Duration = Duration::from_secs(1);

/// The state of a worker at one moment.
pub(crate) struct WorkerRecord {
    pub(crate) fibers: Vec<FiberRecord>,
    /// Jobs that no fiber has begun.
    pub(crate) jobs: usize,
    /// Requests of this worker that are not answered yet.
    pub(crate) outstanding: usize,
    /// Whether it waits for the requests to properties whose last trust is gone.
    pub(crate) has_grace_round: bool,
}

/// A fiber in the middle of a job.
pub(crate) struct FiberRecord {
    pub(crate) name: FiberName,
    pub(crate) job: JobId,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) state: FiberState,
    pub(crate) wait: Option<Wait>,
    pub(crate) answer: Option<AnswerWait>,
    /// The turn of its worker in which it last ran.
    pub(crate) resumed: u64,
    /// The addresses of the latches that it holds.
    pub(crate) latches: Vec<usize>,
}

impl FiberRecord {
    fn of(fiber: &Fiber) -> Self {
        Self {
            name: fiber.name(),
            job: fiber.job_id(),
            spawned_at: fiber.spawned_at(),
            state: fiber.state(),
            wait: fiber.wait(),
            answer: fiber.answer(),
            resumed: fiber.resumed(),
            latches: fiber.latches(),
        }
    }
}

impl Worker {
    fn record(&self) -> WorkerRecord {
        let fibers = &self.fibers.scheduler.in_a_job();
        WorkerRecord {
            fibers: fibers.iter().map(|fiber| FiberRecord::of(fiber)).collect(),
            jobs: self.fibers.scheduler.live() - fibers.len(),
            outstanding: self.outstanding(),
            has_grace_round: self.end.grace.is_pending(),
        }
    }
}

/// The reports of the workers of this node, in order; `None` for a worker that does not answer within a second. For
/// threads that are not workers.
pub(crate) fn records(runtime: &Shared) -> Vec<Option<WorkerRecord>> {
    let (sender, receiver) = mpsc::channel();
    for mailbox in &runtime.mailboxes {
        let sender = sender.clone();
        let tell = move |here: &Worker| {
            // If this took too long, the receiver is gone.
            let _late = sender.send((here.index, here.record()));
        };
        // Refused only once the runtime has ended.
        let _ended = mailbox.send(Message::Act(Box::new(tell)));
    }
    drop(sender);
    let due = Instant::now() + ANSWERS;
    let mut records: Vec<Option<WorkerRecord>> = runtime.mailboxes.iter().map(|_| None).collect();
    while let Ok((index, record)) = receiver.recv_timeout(due.saturating_duration_since(Instant::now())) {
        records[index - runtime.first] = Some(record);
    }
    records
}
