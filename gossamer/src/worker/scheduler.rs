//! Which fibers a worker has, which can go on, and how one waits.

use crate::lane::context::{self, Context};
use crate::sys::fiber::{Description, Fiber, Job};
use crate::sys::ring::Ring;
use crate::sys::stack::{Stack, StackPool};
use crate::worker::wake::WakeHandle;
use crate::worker::{self, Worker};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// Idle fibers kept with their stacks; more give their memory back.
const IDLE_FIBERS: usize = 1024;
/// Calls of a fiber that need not suspend it, between two turns of others.
const PATIENCE: u32 = 250;
/// Times a fiber may swallow its cancellation before the process ends.
const CANCELLATIONS: u32 = 1000;

/// What unwinds a fiber whose runtime ends.
pub(crate) struct Cancelled;

/// The fibers of one worker.
pub(crate) struct Scheduler {
    worker: u32,
    stacks: Rc<StackPool>,
    fibers: RefCell<Vec<Option<Rc<Fiber>>>>,
    vacant: RefCell<Vec<u32>>,
    idle: RefCell<Vec<Rc<Fiber>>>,
    ready: Ring<Rc<Fiber>>,
    jobs: Ring<Job>,
    /// Jobs that may still start in this turn.
    startable: Cell<usize>,
    /// Fibers with a job.
    live: Cell<usize>,
    serial: Cell<u64>,
}

impl Scheduler {
    pub(crate) fn new(stack_bytes: usize, worker: u32) -> Self {
        Self {
            worker,
            stacks: StackPool::new(stack_bytes),
            fibers: RefCell::default(),
            vacant: RefCell::default(),
            idle: RefCell::default(),
            ready: Ring::with_capacity(64),
            jobs: Ring::with_capacity(64),
            startable: Cell::new(0),
            live: Cell::new(0),
            serial: Cell::new(0),
        }
    }

    /// Queues a job for a fiber of this worker.
    pub(crate) fn submit(&self, job: Job) {
        self.jobs.push(job);
    }

    /// Queues the first job of a runtime, which gets a stack of `bytes` instead of a fiber's.
    pub(crate) fn submit_main(&self, job: Job, bytes: usize) {
        let description = Description { worker: self.worker, serial: 0, spawned_at: job.spawned_at };
        match StackPool::new(bytes).take() {
            Ok(stack) => {
                let fiber = self.add(stack, description);
                self.idle.borrow_mut().push(fiber);
                self.submit(job);
            }
            Err(error) => job.start.call(Err(error)),
        }
    }

    /// Whether some fiber can go on or start.
    #[inline]
    pub(crate) fn has_ready(&self) -> bool {
        self.ready.len() > 0 || self.jobs.len() > 0
    }

    /// Whether there is any fiber with a job, or a job without a fiber.
    pub(crate) fn has_live(&self) -> bool {
        self.live() > 0
    }

    /// Fibers with a job, and jobs without a fiber.
    pub(crate) fn live(&self) -> usize {
        self.live.get() + self.jobs.len()
    }

    /// Lets a fiber go on if it is parked; if it runs, its next park returns at once.
    #[inline(always)]
    pub(crate) fn unpark(&self, fiber: Rc<Fiber>) {
        if fiber.wake() {
            self.ready.push(fiber);
        }
    }

    /// As `unpark`, by index; a fiber that has ended is passed over.
    pub(crate) fn unpark_index(&self, index: u32) {
        let fiber = self.fibers.borrow().get(index as usize).cloned().flatten();
        if let Some(fiber) = fiber {
            self.unpark(fiber);
        }
    }

    /// Runs the fibers that could go on when the call began, and starts jobs. Whether there was any.
    pub(crate) fn run(&self) -> bool {
        let (ready, jobs) = (self.ready.len(), self.jobs.len());
        if ready + jobs == 0 {
            return false;
        }
        let _restore = context::enter(Context::Fiber);
        for _ in 0..ready {
            let Some(fiber) = self.ready.pop() else { break };
            self.ready.peek(1, |next| next.prefetch_frame());
            self.ready.peek(3, Fiber::prefetch_self);
            self.resume(fiber);
        }
        self.startable.set(jobs);
        while let Some((job, description)) = self.next_job() {
            self.start(job, description);
        }
        true
    }

    #[inline(always)]
    fn resume(&self, fiber: Rc<Fiber>) {
        let fiber = fiber.resume();
        if !fiber.is_suspended() {
            self.retire(fiber);
        }
    }

    /// The next job that may start in this turn.
    fn next_job(&self) -> Option<(Job, Description)> {
        self.startable.set(self.startable.get().checked_sub(1)?);
        let job = self.jobs.pop()?;
        self.serial.set(self.serial.get() + 1);
        let description =
            Description { worker: self.worker, serial: self.serial.get(), spawned_at: job.spawned_at };
        Some((job, description))
    }

    /// Starts a job on an idle fiber, or on a new one.
    fn start(&self, job: Job, description: Description) {
        let idle = self.idle.borrow_mut().pop();
        let new = || self.stacks.take().map(|stack| self.add(stack, description));
        let fiber = match idle.map_or_else(new, Ok) {
            Ok(fiber) => fiber,
            Err(error) => {
                let _restore = context::enter(Context::Loop);
                return job.start.call(Err(error));
            }
        };
        fiber.assign(job, description);
        self.live.set(self.live.get() + 1);
        self.resume(fiber);
    }

    fn add(&self, stack: Stack, description: Description) -> Rc<Fiber> {
        let mut fibers = self.fibers.borrow_mut();
        let index = self.vacant.borrow_mut().pop().unwrap_or_else(|| {
            fibers.push(None);
            (fibers.len() - 1) as u32
        });
        let fiber = Fiber::new(index, stack, description, next_job_of_worker);
        fibers[index as usize] = Some(Rc::clone(&fiber));
        fiber
    }

    /// Returns a fiber to the pool when its job has ended. One that unwinds comes first.
    fn retire(&self, mut fiber: Rc<Fiber>) {
        while fiber.is_unwinding() {
            worker::with(|worker| worker.map(Worker::work_without_fibers));
            fiber = fiber.resume();
        }
        if fiber.is_suspended() {
            return;
        }
        self.live.set(self.live.get() - 1);
        let mut idle = self.idle.borrow_mut();
        if idle.len() < IDLE_FIBERS {
            idle.push(fiber);
        } else {
            self.fibers.borrow_mut()[fiber.index as usize] = None;
            self.vacant.borrow_mut().push(fiber.index);
        }
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

/// What a fiber of this worker does next when its job has ended.
fn next_job_of_worker(fiber: &Fiber) -> Option<Job> {
    let (job, description) = worker::with(|worker| worker?.scheduler.next_job())?;
    fiber.describe(description);
    Some(job)
}

impl Worker {
    /// The fiber that runs now.
    ///
    /// # Panics
    /// If none does.
    #[inline(always)]
    pub(crate) fn running(&self) -> Rc<Fiber> {
        Fiber::running().unwrap_or_else(|| panic!("no fiber is running on this worker"))
    }

    /// Suspends the running fiber until `done`. Not cancellable: for waits that end by themselves.
    ///
    /// While the fiber unwinds from a panic, which belongs to the thread, no other fiber runs.
    #[inline(always)]
    pub(crate) fn wait_until(&self, done: impl Fn() -> bool) {
        if std::thread::panicking() {
            return self.unwind_later_until(done);
        }
        while !done() {
            Fiber::park(false);
        }
    }

    /// Suspends the running fiber until it is woken, maybe spuriously; unwinds it if the runtime ends.
    pub(crate) fn park(&self) {
        self.unwind_if_cancelled();
        self.park_as(true);
        self.unwind_if_cancelled();
    }

    /// Suspends the running fiber until it is woken, maybe spuriously, also while the runtime ends: for waits that end by
    /// themselves.
    pub(crate) fn park_to_the_end(&self) {
        self.park_as(false);
    }

    fn park_as(&self, cancellable: bool) {
        if std::thread::panicking() {
            self.unwind_later_until(Fiber::take_notification);
        } else {
            Fiber::park(cancellable);
        }
    }

    /// Lets the other fibers of this worker run, and its loop; only the loop while the running fiber unwinds.
    pub(crate) fn yield_now(&self) {
        if std::thread::panicking() {
            return Fiber::suspend_unwinding();
        }
        self.unwind_if_cancelled();
        self.let_others_run();
    }

    /// Lets the other fibers of this worker run, and its loop, also while the runtime ends.
    pub(crate) fn let_others_run(&self) {
        self.scheduler.ready.push(self.running());
        Fiber::suspend_ready();
    }

    /// As `take_turn`, unless the turn is over; returns whether it is not.
    #[inline(always)]
    pub(crate) fn has_turn(&self) -> bool {
        match self.patience.get() {
            0 => false,
            left => {
                self.patience.set(left - 1);
                true
            }
        }
    }

    /// For calls of a fiber that need not suspend it: now and then one lets others run all the same, so that a fiber that
    /// makes no other calls keeps neither them nor the worker's loop from their work.
    #[inline(always)]
    pub(crate) fn take_turn(&self) {
        if !self.has_turn() {
            self.end_turn();
        }
    }

    #[cold]
    #[inline(never)]
    fn end_turn(&self) {
        self.patience.set(PATIENCE);
        self.yield_now();
    }

    #[inline(always)]
    pub(crate) fn unwind_if_cancelled(&self) {
        if self.cancelling.get() && !std::thread::panicking() {
            self.unwind();
        }
    }

    #[cold]
    #[inline(never)]
    fn unwind(&self) {
        if Fiber::count_cancellation() > CANCELLATIONS {
            let place = self.running().spawned_at();
            eprintln!(
                "gossamer: the fiber spawned at {place} keeps catching its cancellation after main returned; exiting"
            );
            std::process::exit(101);
        }
        std::panic::resume_unwind(Box::new(Cancelled));
    }

    /// A waker for the running fiber, usable from any thread.
    pub(crate) fn fiber_waker(&self) -> Waker {
        let fiber = self.running();
        let handle =
            || WakeHandle { shared: Arc::clone(&self.shared), worker: self.index, fiber: fiber.index };
        fiber.waker.get_or_init(|| Waker::from(Arc::new(handle()))).clone()
    }

    /// Wakes a fiber that sleeps until `due`, now and then spuriously.
    pub(crate) fn sleep_until(&self, due: Instant) {
        let timer = self.timers.register(due, self.fiber_waker());
        loop {
            // At least once, however short the time: others run meanwhile.
            self.park();
            if Instant::now() >= due {
                return self.timers.cancel(timer);
            }
        }
    }

    /// Unwinds the running fiber if the runtime ends. Whether it ends and the fiber unwinds already: then it must not start
    /// others, or they would keep the runtime alive.
    pub(crate) fn refuses_fibers(&self) -> bool {
        self.unwind_if_cancelled();
        self.cancelling.get()
    }
}
