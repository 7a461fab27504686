//! The fibers of a worker, and which of them are runnable.

use crate::counters::trace::{self, EventKind, TraceEvent};
use crate::counters::worker::WorkerCounters;
use crate::lane::catch;
use crate::lane::context::{self, Context};
use crate::structures::local_queue::LocalQueue;
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::job::{Description, Job, NotStarted};
use crate::sys::fibers::stack::{Stack, StackPool};
use crate::worker::fibers::cancel::Cancellations;
use crate::worker::watch::overdue::Overdue;
use crate::worker::watch::view::View;
use crate::worker::{self, Worker};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// Idle fibers kept with their stacks; more give their memory back.
const IDLE_FIBERS: usize = 1024;
/// How many resumes before its own a fiber is fetched, and its frame, whose address is in it.
const SELF_AHEAD: usize = 16;
const FRAME_AHEAD: usize = 4;
/// Resumes of one turn after which other nodes get what was written until then.
const MANY: usize = 256;

/// The fibers of one worker.
pub(crate) struct Scheduler {
    worker: u32,
    pub(super) view: Arc<View>,
    stacks: Rc<StackPool>,
    pub(super) fibers: RefCell<Vec<Option<Rc<Fiber>>>>,
    vacant: RefCell<Vec<u32>>,
    pub(super) idle: RefCell<Vec<Rc<Fiber>>>,
    /// The fewest idle fibers since the last check for unused memory.
    pub(super) fewest_idle: Cell<usize>,
    ready: LocalQueue<Rc<Fiber>>,
    /// Fibers that let others run: those that were woken, and jobs that were queued, before they did.
    yielded: LocalQueue<Rc<Fiber>>,
    jobs: LocalQueue<Job>,
    /// Jobs that may still start in this turn.
    startable: Cell<usize>,
    counters: Arc<WorkerCounters>,
    /// The number of the worker's turn.
    turn: Cell<u64>,
    /// Whether events of this turn are recorded.
    pub(crate) is_traced: Cell<bool>,
    pub(super) cancellations: Cancellations,
}

impl Scheduler {
    pub(crate) fn new(
        stack_bytes: usize,
        worker: u32,
        view: Arc<View>,
        counters: Arc<WorkerCounters>,
    ) -> Self {
        Self {
            worker,
            view,
            stacks: StackPool::new(stack_bytes),
            fibers: RefCell::default(),
            vacant: RefCell::default(),
            idle: RefCell::default(),
            fewest_idle: Cell::new(0),
            ready: LocalQueue::with_capacity(64),
            yielded: LocalQueue::with_capacity(64),
            jobs: LocalQueue::with_capacity(64),
            startable: Cell::new(0),
            counters,
            turn: Cell::new(0),
            is_traced: Cell::new(false),
            cancellations: Cancellations::default(),
        }
    }

    /// Queues a job for a fiber of this worker.
    pub(crate) fn submit(&self, job: Job) {
        self.jobs.push(job);
    }

    /// Queues a job that gets a stack of `bytes` instead of a fiber's: the first of a runtime.
    pub(crate) fn submit_main(&self, job: Job, bytes: usize) {
        let description = Description { worker: self.worker, serial: 0, spawned_at: job.spawned_at };
        match StackPool::new(bytes).take() {
            Ok(stack) => {
                let fiber = self.add(stack, description);
                fiber.assign(job, description);
                self.counters.fibers.started.add(1);
                self.counters.fibers.alive.add(1);
                self.ready.push(fiber);
            }
            Err(error) => job.start.call(Err(NotStarted::NoStack(error))),
        }
    }

    /// Whether some fiber can run or start.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        self.runnable() > 0 || self.jobs.len() > 0 || self.cancellations.are_requested()
    }

    fn runnable(&self) -> usize {
        self.ready.len() + self.yielded.len()
    }

    /// Whether some fiber is in the middle of a job.
    pub(crate) fn has_fibers(&self) -> bool {
        self.counters.fibers.alive.get() > 0
    }

    /// Drops the jobs that no fiber has begun, which tells their waiters.
    pub(crate) fn drop_jobs(&self) {
        while let Some(job) = self.jobs.pop() {
            catch::contained(|| drop(job));
        }
    }

    /// Fibers with a job, and jobs without a fiber.
    pub(crate) fn live(&self) -> usize {
        self.counters.fibers.alive.get() as usize + self.jobs.len()
    }

    /// Queues the running fiber, which is about to suspend, behind the other runnable fibers, and behind the jobs.
    pub(super) fn requeue(&self, fiber: Rc<Fiber>) {
        self.yielded.push(fiber);
    }

    /// Makes a fiber runnable if it is parked; if it is running, its next park returns at once.
    #[inline(always)]
    pub(crate) fn unpark(&self, fiber: Rc<Fiber>) {
        if fiber.wake() {
            self.ready.push(fiber);
        }
    }

    /// Like `unpark`, by index; a fiber that has ended is skipped.
    pub(crate) fn unpark_index(&self, index: u32) {
        let fiber = self.fibers.borrow().get(index as usize).cloned().flatten();
        if let Some(fiber) = fiber {
            self.unpark(fiber);
        }
    }

    /// A turn of the worker's loop begins.
    #[inline(always)]
    pub(crate) fn begin_turn(&self, turn: u64) {
        self.turn.set(turn);
    }

    /// Runs the fibers that could go on when the call began, and starts jobs. Returns whether there was any. If together
    /// they keep the worker for long, some wait for its next turn.
    pub(crate) fn run(&self) -> bool {
        if self.cancellations.are_requested() {
            self.cancel_requested();
        }
        let (ready, jobs, yielded) = (self.ready.len(), self.jobs.len(), self.yielded.len());
        if ready + jobs + yielded == 0 {
            self.cancellations.forget_jobs();
            return false;
        }
        let _restore = context::enter(Context::Fiber);
        self.resume_first(&self.ready, ready);
        self.begin_phase();
        self.startable.set(jobs);
        while let Some((job, description)) = self.next_job() {
            self.start(job, description);
            // Not before: fibers that always keep the worker for long would leave no turn to it.
            if self.is_hurried() {
                break;
            }
        }
        // Jobs that wait for the next turn may be among those that were cancelled.
        if self.startable.replace(0) == 0 {
            self.cancellations.forget_jobs();
        }
        self.resume_first(&self.yielded, yielded);
        self.view.note_running(None);
        self.view.note_unswept();
        self.counters.fibers.ready.set(self.runnable() as u64);
        true
    }

    /// Runs the first fibers of a queue.
    #[inline(always)]
    fn resume_first(&self, queue: &LocalQueue<Rc<Fiber>>, count: usize) {
        self.begin_phase();
        for number in 1..=count {
            let Some(fiber) = queue.pop() else { break };
            queue.peek(FRAME_AHEAD, |next| next.prefetch_frame());
            queue.peek(SELF_AHEAD, Fiber::prefetch_self);
            self.resume(fiber);
            if number.is_multiple_of(MANY) && number < count {
                worker::with_worker(Worker::send_early);
            }
            if self.is_hurried() {
                break;
            }
        }
    }

    /// Whether this turn has lasted long.
    #[inline(always)]
    fn is_hurried(&self) -> bool {
        self.counters.fibers.calls_left.is_hurried()
    }

    /// Neither what was served before nor the fibers that were ready keep those that come next from this turn: where one
    /// fiber takes long in each turn, jobs would begin one by one. If this phase takes long, too, the mark comes again.
    #[inline(always)]
    fn begin_phase(&self) {
        self.counters.fibers.calls_left.forget_mark();
    }

    #[inline(always)]
    fn resume(&self, fiber: Rc<Fiber>) {
        if self.is_traced.get() {
            return self.resume_traced(fiber);
        }
        self.resume_untraced(fiber);
    }

    #[inline(always)]
    fn resume_untraced(&self, fiber: Rc<Fiber>) {
        self.view.note_running(Some(fiber.spawned_at()));
        let fiber = fiber.resume(self.turn.get());
        if !fiber.is_suspended() {
            self.retire(fiber);
        }
    }

    #[cold]
    #[inline(never)]
    fn resume_traced(&self, fiber: Rc<Fiber>) {
        let (place, start) = (fiber.spawned_at(), trace::now());
        self.resume_untraced(fiber);
        if let Some(ring) = &self.counters.trace {
            ring.push(TraceEvent { place: Some(place), ..TraceEvent::since(EventKind::Fiber, start) });
        }
    }

    /// The next job that may start in this turn.
    fn next_job(&self) -> Option<(Job, Description)> {
        let job = loop {
            self.startable.set(self.startable.get().checked_sub(1)?);
            let job = self.jobs.pop()?;
            if !self.cancellations.has_next_job(job.id) {
                break job;
            }
            refuse(job, NotStarted::Cancelled);
        };
        self.counters.fibers.started.add(1);
        let serial = self.counters.fibers.started.get();
        let description = Description { worker: self.worker, serial, spawned_at: job.spawned_at };
        Some((job, description))
    }

    /// Starts a job on an idle fiber, or on a new one.
    fn start(&self, job: Job, description: Description) {
        let idle = self.take_idle();
        let new = || self.stacks.take().map(|stack| self.add(stack, description));
        let fiber = match idle.map_or_else(new, Ok) {
            Ok(fiber) => fiber,
            Err(error) => return refuse(job, NotStarted::NoStack(error)),
        };
        fiber.assign(job, description);
        self.counters.fibers.alive.add(1);
        self.resume(fiber);
    }

    fn take_idle(&self) -> Option<Rc<Fiber>> {
        let mut idle = self.idle.borrow_mut();
        let fiber = idle.pop()?;
        self.fewest_idle.set(self.fewest_idle.get().min(idle.len()));
        Some(fiber)
    }

    fn add(&self, stack: Stack, description: Description) -> Rc<Fiber> {
        let mut fibers = self.fibers.borrow_mut();
        let index = self.vacant.borrow_mut().pop().unwrap_or_else(|| {
            fibers.push(None);
            (fibers.len() - 1) as u32
        });
        let fiber = Fiber::new(index, stack, description, next_job_of_worker);
        fibers[index as usize] = Some(Rc::clone(&fiber));
        self.counters.fibers.stacks.add(1);
        fiber
    }

    /// Makes the worker do its other work until a fiber has finished its destructors, or is suspended normally.
    #[cold]
    #[inline(never)]
    fn unwind(&self, mut fiber: Rc<Fiber>) -> Rc<Fiber> {
        let mut overdue = Overdue::new();
        while fiber.is_unwinding() {
            self.view.note_running(None);
            worker::with_worker(Worker::work_without_fibers);
            self.view.note_running(Some(fiber.spawned_at()));
            if let Some(lasted) = overdue.is_due() {
                self.tell_of_destructor(&fiber, lasted);
            }
            fiber = fiber.resume(self.turn.get());
        }
        fiber
    }

    fn tell_of_destructor(&self, fiber: &Fiber, lasted: Duration) {
        eprintln!(
            "gossamer: worker {} has run no other fiber for {} s: the fiber spawned at {} unwinds from a panic or its \
             cancellation, and one of its destructors waits {}; wait before, or use `apply_then` in destructors",
            self.worker,
            lasted.as_secs(),
            fiber.spawned_at(),
            fiber.wait().map_or("for a trustee's answer".to_owned(), |wait| format!("in `{}`", wait.call)),
        );
    }

    /// Returns a fiber to the pool when its job has ended. One that unwinds comes first.
    fn retire(&self, mut fiber: Rc<Fiber>) {
        if fiber.is_unwinding() {
            fiber = self.unwind(fiber);
        }
        if fiber.is_suspended() {
            return;
        }
        self.counters.fibers.alive.subtract(1);
        self.cancellations.job_is_over(&fiber);
        let mut idle = self.idle.borrow_mut();
        if idle.len() < IDLE_FIBERS {
            idle.push(fiber);
        } else {
            drop(idle);
            self.release(fiber);
        }
    }

    /// Frees the memory of an idle fiber.
    pub(super) fn release(&self, fiber: Rc<Fiber>) {
        self.fibers.borrow_mut()[fiber.index as usize] = None;
        self.vacant.borrow_mut().push(fiber.index);
        self.counters.fibers.stacks.subtract(1);
    }

    /// Cancels the fibers whose cancellation was requested.
    #[cold]
    fn cancel_requested(&self) {
        self.cancellations.begin(self.jobs.len());
        for fiber in self.in_a_job() {
            if self.cancellations.has_job(fiber.job_id()) && self.cancellations.cancel(&fiber) {
                // Whatever it waits for: the fiber of a scope has to tell its fibers, others check again.
                self.unpark(fiber);
            }
        }
    }

    /// The fibers that are in the middle of a job.
    pub(crate) fn in_a_job(&self) -> Vec<Rc<Fiber>> {
        self.fibers.borrow().iter().flatten().filter(|fiber| !fiber.is_idle()).cloned().collect()
    }

    /// Wakes every fiber that waits in a call that unwinds when the runtime ends.
    pub(crate) fn wake_cancellable(&self) {
        let fibers: Vec<_> = self.fibers.borrow().iter().flatten().cloned().collect();
        for fiber in fibers {
            if fiber.is_cancellable() {
                self.unpark(fiber);
            }
        }
    }
}

/// Tells a job that it cannot start.
#[cold]
fn refuse(job: Job, why: NotStarted) {
    let _restore = context::enter(Context::Loop);
    job.start.call(Err(why));
}

/// What a fiber of this worker does next when its job has ended.
fn next_job_of_worker(fiber: &Fiber) -> Option<Job> {
    let (job, description) = worker::with(|worker| {
        let scheduler = &worker?.fibers.scheduler;
        scheduler.cancellations.job_is_over(fiber);
        if scheduler.is_hurried() {
            return None;
        }
        let next = scheduler.next_job()?;
        scheduler.view.note_running(Some(next.1.spawned_at));
        Some(next)
    })?;
    fiber.describe(description, job.id);
    Some(job)
}
