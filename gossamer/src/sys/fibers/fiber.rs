//! Fibers, and the seam to the context switch.
//!
//! A fiber is a coroutine that runs one job after another, so that neither its stack nor its first frame is ever
//! set up twice. Suspending and resuming are the hot path of every blocking call: they touch one thread-local and
//! the fiber itself.
//!
//! Invariants
//! - F1: a fiber is used only on the thread that made it (it is neither `Send` nor `Sync`).
//! - F2: `RUNNING` points into the `Rc` of the fiber whose stack this thread runs on, or is null on the thread's
//!   own stack; `resume` owns that `Rc` meanwhile.
//! - F3: `yielder` is set by the fiber's first frame, which lives as long as the coroutine is not dropped.
//! - F4: `farewell` is none, or refers into a frame of the fiber's job, which takes it back before it is left.
//! - F5: `frame` of a suspended fiber is the stack pointer of the function that has suspended it. Below it are only the
//!   frames of the switch, which take less than `frame::SWITCH_BYTES`: `Yielder::suspend` has no locals, and the switch
//!   saves three words.

use crate::structures::locals::Locals;
use crate::sys::fibers::frame;
use crate::sys::fibers::job::{Description, Job, JobId};
use crate::sys::fibers::notes::FiberNotes;
use crate::sys::fibers::notice::Notice;
use crate::sys::fibers::stack::Stack;
use crate::sys::fibers::wait::{AnswerWait, FiberName};
use corosensei::{Coroutine, Yielder};
use std::cell::{Cell, OnceCell, UnsafeCell};
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::{NonNull, null};
use std::rc::Rc;
use std::task::Waker;

thread_local! {
    /// F2. Read by the fault handler, so it must need no initialisation.
    static RUNNING: Cell<*const Fiber> = const { Cell::new(null()) };
}

/// Whether a fiber can go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FiberState {
    /// Without a job.
    Idle,
    Running,
    /// Suspended while it unwinds from a panic, which std counts for the whole thread: no other fiber may run before
    /// it.
    Unwinding,
    /// In the queue of fibers that can go on.
    Ready,
    /// Suspended until it is woken.
    Parked,
}

/// How a fiber is parked, if it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Parking {
    /// In a call that unwinds when the runtime ends.
    Cancellable,
    /// In a call that ends by itself.
    ToTheEnd,
    /// In a call that ends with the answer of a trustee.
    ForAnswer,
}

/// A stack with a coroutine on it, and the job it runs. The fields that each switch touches come first, together.
#[repr(C)]
pub(crate) struct Fiber {
    state: Cell<FiberState>,
    /// What the fiber finds at its next park.
    pub(super) notice: Cell<Notice>,
    parking: Cell<Parking>,
    /// Looks of `age` since its last resume, up to the number that counts.
    pub(super) age: Cell<u8>,
    /// Index in its worker's table.
    pub(crate) index: u32,
    /// F5. Where the next resume will read.
    pub(super) frame: Cell<*const u64>,
    /// F3. It lies where the stack begins, and every switch uses it.
    pub(super) yielder: Cell<*const Yielder<(), ()>>,
    /// The turn of its worker in which it was resumed last.
    pub(super) resumed: Cell<u64>,
    coroutine: UnsafeCell<ManuallyDrop<Coroutine<(), (), (), Stack>>>,
    /// The trustee's answer that it last waited for, in whatever call.
    pub(super) answer: Cell<Option<AnswerWait>>,
    pub(super) description: Cell<Description>,
    job: Cell<Option<Job>>,
    /// The job's name.
    id: Cell<JobId>,
    /// How often its job was told to end.
    cancellations: Cell<u32>,
    /// Its job is cancelled, though the runtime goes on.
    cancelled: Cell<bool>,
    /// Made at the first wait that needs one.
    pub(crate) waker: OnceCell<Waker>,
    /// F4. Tells what waits for the job that it will never end.
    farewell: Cell<Option<NonNull<dyn Fn()>>>,
    /// Its job's own values.
    pub(crate) locals: Locals,
    pub(super) notes: FiberNotes,
    pub(super) guard: usize,
    pub(super) usable: usize,
}

impl Fiber {
    /// An idle fiber. When its job has ended, it asks `next` for another before it suspends.
    pub(crate) fn new(
        index: u32,
        stack: Stack,
        description: Description,
        next: fn(&Self) -> Option<Job>,
    ) -> Rc<Self> {
        let (guard, usable) = (stack.guard(), stack.usable());
        let coroutine = Coroutine::with_stack(stack, move |yielder, ()| {
            Self::with_running(|fiber| fiber.yielder.set(yielder));
            loop {
                // One job after another, as long as there are any: each saves a switch.
                while let Some(job) = Self::with_running(|fiber| fiber.job.take().or_else(|| next(fiber))) {
                    job.start.call(Ok(()));
                }
                Self::with_running(|fiber| fiber.state.set(FiberState::Idle));
                yielder.suspend(());
            }
        });
        Rc::new(Self {
            coroutine: UnsafeCell::new(ManuallyDrop::new(coroutine)),
            yielder: Cell::new(null()),
            state: Cell::new(FiberState::Idle),
            notice: Cell::default(),
            parking: Cell::new(Parking::ToTheEnd),
            cancellations: Cell::new(0),
            cancelled: Cell::new(false),
            id: Cell::new(0),
            index,
            job: Cell::new(None),
            waker: OnceCell::new(),
            description: Cell::new(description),
            notes: FiberNotes::default(),
            resumed: Cell::new(0),
            answer: Cell::new(None),
            farewell: Cell::new(None),
            locals: Locals::new(),
            frame: Cell::new(null()),
            age: Cell::new(0),
            guard,
            usable,
        })
    }

    /// Gives an idle fiber a job; it runs at the next `resume`.
    pub(crate) fn assign(&self, job: Job, description: Description) {
        self.describe(description, job.id);
        self.job.set(Some(job));
    }

    /// Prepares for a job of this description.
    pub(crate) fn describe(&self, description: Description, id: JobId) {
        self.description.set(description);
        self.id.set(id);
        self.notice.set(Notice::None);
        self.cancellations.set(0);
    }

    /// The source line that spawned the fiber that does its job.
    pub(crate) fn spawned_at(&self) -> &'static Location<'static> {
        self.description.get().spawned_at
    }

    /// Its name among the fibers of all nodes.
    pub(crate) fn name(&self) -> FiberName {
        let Description { worker, serial, .. } = self.description.get();
        FiberName { worker, serial }
    }

    /// Runs `job` on the running fiber, if there is one; `farewell` is called if the fiber stays suspended for ever.
    pub(crate) fn with_farewell(farewell: &dyn Fn(), job: impl FnOnce()) {
        struct Taken(Option<Rc<Fiber>>);
        impl Drop for Taken {
            fn drop(&mut self) {
                self.0.iter().for_each(|fiber| fiber.farewell.set(None));
            }
        }
        let taken = Taken(Self::running());
        let farewell = NonNull::from(farewell);
        // SAFETY: only the lifetime differs, and F4: `taken` takes it back before this frame is left.
        let farewell = unsafe { std::mem::transmute::<NonNull<dyn Fn() + '_>, NonNull<dyn Fn()>>(farewell) };
        taken.0.iter().for_each(|fiber| fiber.farewell.set(Some(farewell)));
        job();
    }

    /// Tells what waits for the job that it will never end: nothing resumes this fiber any more.
    pub(crate) fn say_farewell(&self) {
        if let Some(farewell) = self.farewell.take() {
            // SAFETY: F4; F1: the frame belongs to this thread, and is suspended.
            let farewell = unsafe { farewell.as_ref() };
            farewell();
        }
    }

    pub(crate) fn state(&self) -> FiberState {
        self.state.get()
    }

    /// Whether the job has ended.
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.state.get() == FiberState::Idle
    }

    /// Whether it is suspended as usual: not at the end of a job, and not in the middle of unwinding.
    #[inline(always)]
    pub(crate) fn is_suspended(&self) -> bool {
        matches!(self.state.get(), FiberState::Ready | FiberState::Parked)
    }

    /// Whether it is suspended in the middle of unwinding.
    pub(crate) fn is_unwinding(&self) -> bool {
        self.state.get() == FiberState::Unwinding
    }

    /// Whether it waits to be woken.
    pub(crate) fn is_parked(&self) -> bool {
        self.state.get() == FiberState::Parked
    }

    /// The job that it runs.
    pub(crate) fn job_id(&self) -> JobId {
        self.id.get()
    }

    /// Cancels its job. Returns whether it was not cancelled already.
    pub(crate) fn cancel(&self) -> bool {
        !self.cancelled.replace(true)
    }

    /// Whether its job is cancelled, though the runtime goes on.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.get()
    }

    /// Its job is over. Returns whether it was cancelled.
    #[inline(always)]
    pub(crate) fn take_cancellation(&self) -> bool {
        self.cancelled.take()
    }

    /// Whether it waits for the answer of a trustee, in whatever call.
    pub(super) fn awaits_answer(&self) -> bool {
        self.is_parked() && self.parking.get() == Parking::ForAnswer
    }

    /// Whether it waits in a call that unwinds when the runtime ends.
    pub(crate) fn is_cancellable(&self) -> bool {
        self.is_parked() && self.parking.get() == Parking::Cancellable
    }

    /// Notes that a fiber was woken. Returns whether it must be queued to go on. If not, its next park returns at once.
    #[inline(always)]
    pub(crate) fn wake(&self) -> bool {
        match self.state.get() {
            FiberState::Parked => self.state.set(FiberState::Ready),
            FiberState::Running | FiberState::Ready | FiberState::Unwinding => {
                self.notice.set(Notice::Woken);
                return false;
            }
            FiberState::Idle => return false,
        }
        true
    }

    /// Runs the fiber until it suspends or its job ends, and gives it back.
    ///
    /// # Panics
    /// If called from a fiber: only a worker's own loop resumes fibers.
    #[inline]
    pub(crate) fn resume(self: Rc<Self>, turn: u64) -> Rc<Self> {
        assert!(RUNNING.get().is_null(), "a fiber cannot resume another fiber");
        RUNNING.set(Rc::as_ptr(&self));
        self.state.set(FiberState::Running);
        self.resumed.set(turn);
        self.age.set(0);
        // SAFETY: F1 and the assertion: no other frame of this thread is inside a `resume`, so this is the only
        // reference to the coroutine; it is suspended, since it can only be running below a `resume`.
        let coroutine = unsafe { &mut *self.coroutine.get() };
        coroutine.resume(());
        RUNNING.set(null());
        self
    }

    /// The fiber this thread runs, if it runs one.
    #[inline(always)]
    pub(crate) fn running() -> Option<Rc<Self>> {
        let running = RUNNING.get();
        if running.is_null() {
            return None;
        }
        // SAFETY: F2: the pointer came from an `Rc` that is alive.
        unsafe { Rc::increment_strong_count(running) };
        // SAFETY: this takes over the count just added.
        Some(unsafe { Rc::from_raw(running) })
    }

    #[inline(always)]
    pub(super) fn with_running<R>(f: impl FnOnce(&Self) -> R) -> R {
        let running = RUNNING.get();
        assert!(!running.is_null(), "no fiber is running on this thread");
        // SAFETY: F2: `resume` owns the fiber for as long as `RUNNING` names it.
        f(unsafe { &*running })
    }

    /// Notes, on the running fiber, that its job is told to end. Returns how often it was told.
    pub(crate) fn count_cancellation() -> u32 {
        Self::with_running(|fiber| {
            fiber.cancellations.set(fiber.cancellations.get() + 1);
            fiber.cancellations.get()
        })
    }

    /// Suspends the running fiber until it is woken; returns at once if it was woken since its last park.
    ///
    /// # Panics
    /// If no fiber is running on this thread.
    #[inline(always)]
    pub(crate) fn park(cancellable: bool) {
        let parking = if cancellable { Parking::Cancellable } else { Parking::ToTheEnd };
        Self::with_running(|fiber| {
            if fiber.heeds_notice() {
                return;
            }
            fiber.parking.set(parking);
            fiber.suspend(FiberState::Parked);
        });
    }

    /// Like `park`, for the answer of a trustee, which no cancellation unwinds.
    ///
    /// # Panics
    /// Like `park`.
    #[inline(always)]
    pub(crate) fn park_for(answer: AnswerWait) {
        Self::with_running(|fiber| {
            if fiber.heeds_notice() {
                return;
            }
            fiber.parking.set(Parking::ForAnswer);
            fiber.answer.set(Some(answer));
            fiber.suspend(FiberState::Parked);
        });
    }

    /// Suspends the running fiber, which the caller has queued to go on.
    ///
    /// # Panics
    /// If no fiber is running on this thread.
    #[inline(always)]
    pub(crate) fn suspend_ready() {
        Self::with_running(|fiber| fiber.suspend(FiberState::Ready));
    }

    /// Suspends the running fiber, which is unwinding, for a round of its worker's other work.
    ///
    /// # Panics
    /// If no fiber is running on this thread.
    pub(crate) fn suspend_unwinding() {
        Self::with_running(|fiber| fiber.suspend(FiberState::Unwinding));
    }

    #[inline(always)]
    fn suspend(&self, state: FiberState) {
        self.state.set(state);
        self.frame.set(frame::stack_pointer());
        // SAFETY: F3: this is the running fiber, so it has set its yielder, and its first frame is below this one.
        unsafe { (*self.yielder.get()).suspend(()) };
    }

    /// For signal handlers, which end before the fiber goes on: reads one thread-local and allocates nothing.
    pub(super) fn seen_by_handler<'a>() -> Option<&'a Self> {
        // SAFETY: F2, as in `with_running`.
        unsafe { RUNNING.get().as_ref() }
    }
}

impl Drop for Fiber {
    fn drop(&mut self) {
        if !self.is_idle() {
            // An abandoned job keeps its stack and its values: others may hold pointers into them.
            std::mem::forget(std::mem::take(&mut self.locals));
            return;
        }
        let coroutine = self.coroutine.get_mut();
        if coroutine.started() {
            // SAFETY: between two jobs the live frames hold references and numbers, nothing with a destructor.
            unsafe { coroutine.force_reset() };
        }
        // SAFETY: dropped only here, and never used after.
        unsafe { ManuallyDrop::drop(coroutine) };
    }
}
