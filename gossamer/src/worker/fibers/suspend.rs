//! How a fiber of a worker waits, and how it is cancelled.

use crate::lane::context::{self, Context};
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::{AnswerWait, Wait};
use crate::worker::Worker;
use crate::worker::fibers::timer::Timer;
use crate::worker::fibers::wake::WakeHandle;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

/// Times a fiber may swallow its cancellation before the process ends.
const CANCELLATIONS: u32 = 1000;

/// What unwinds a fiber that is cancelled.
pub(crate) struct Cancelled;

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
    /// While the fiber unwinds from a panic, no other fiber runs, since the panic belongs to the thread.
    #[inline(always)]
    pub(crate) fn wait_until(&self, done: impl Fn() -> bool) {
        #[cfg(feature = "tracing")]
        let _left = crate::spans::leave();
        if std::thread::panicking() {
            return self.unwind_later_until(done);
        }
        while !done() {
            Fiber::park(false);
        }
    }

    /// Like `wait_until`, for the answer of a trustee.
    #[inline(always)]
    pub(crate) fn wait_for_answer(&self, awaited: AnswerWait, done: impl Fn() -> bool) {
        #[cfg(feature = "tracing")]
        let _left = crate::spans::leave();
        if std::thread::panicking() {
            return self.unwind_later_until(done);
        }
        while !done() {
            Fiber::park_for(awaited);
        }
        self.fibers.scheduler.view.note_call(awaited.at);
    }

    /// Suspends the running fiber until it is woken, maybe spuriously; unwinds it if it is cancelled.
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
        #[cfg(feature = "tracing")]
        let _left = crate::spans::leave();
        if std::thread::panicking() {
            self.unwind_later_until(Fiber::take_notification);
        } else {
            Fiber::park(cancellable);
            if let Some(wait) = self.running().wait() {
                self.fibers.scheduler.view.note_call(wait.at);
            }
        }
    }

    /// Lets the other fibers of this worker run, and its loop; only the loop while the running fiber unwinds.
    #[track_caller]
    pub(crate) fn yield_now(&self) {
        if std::thread::panicking() {
            let _noted = Fiber::note_wait(Wait::in_call("yield_now"));
            #[cfg(feature = "tracing")]
            let _left = crate::spans::leave();
            return Fiber::suspend_unwinding();
        }
        self.unwind_if_cancelled();
        self.let_others_run();
    }

    /// Lets the other fibers of this worker run, and its loop, also while the runtime ends.
    pub(crate) fn let_others_run(&self) {
        #[cfg(feature = "tracing")]
        let _left = crate::spans::leave();
        self.fibers.scheduler.requeue(self.running());
        Fiber::suspend_ready();
    }

    /// Like `take_turn_to_apply`, unless the turn is over; returns whether it is not.
    #[inline(always)]
    pub(crate) fn has_turn(&self) -> bool {
        self.fibers.turn.spend()
    }

    /// Like `take_turn_to_apply`, for calls that are not requests.
    #[inline(always)]
    pub(crate) fn take_turn(&self) {
        self.fibers.turn.note_other();
        self.take_turn_to_apply();
    }

    /// For calls that never suspend: the next call that may is the nearer.
    pub(crate) fn shorten_turn(&self) {
        if self.has_turn() {
            self.fibers.turn.note_other();
        }
    }

    /// For calls of a fiber that need not suspend it: now and then one lets others run all the same, so that a fiber
    /// that makes no other calls cannot starve them or the worker's loop.
    #[inline(always)]
    pub(crate) fn take_turn_to_apply(&self) {
        if !self.has_turn() {
            self.look_at_turn();
        }
    }

    #[cold]
    #[inline(never)]
    fn look_at_turn(&self) {
        if self.fibers.turn.look() {
            self.yield_now();
            self.fibers.turn.begin();
        }
    }

    #[inline(always)]
    pub(crate) fn unwind_if_cancelled(&self) {
        if self.fibers.interrupt() && !std::thread::panicking() {
            self.unwind_if_meant();
        }
    }

    #[cold]
    #[inline(never)]
    fn unwind_if_meant(&self) {
        if self.fibers.are_cancelled() || self.running().is_cancelled() {
            self.unwind();
        }
    }

    fn unwind(&self) {
        if Fiber::count_cancellation() > CANCELLATIONS {
            let place = self.running().spawned_at();
            eprintln!(
                "gossamer: the fiber spawned at {place} keeps catching its cancellation, after main returned or by its handle; exiting"
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

    /// Suspends the running fiber until `due`, sometimes spuriously shorter.
    pub(crate) fn sleep_until(&self, due: Instant) {
        /// A fiber that is cancelled leaves no timer behind.
        struct Registered<'a>(&'a Worker, Timer);
        impl Drop for Registered<'_> {
            fn drop(&mut self) {
                self.0.fibers.timers.cancel(self.1);
            }
        }
        let _registered = Registered(self, self.fibers.timers.register(due, self.fiber_waker()));
        loop {
            // At least once, however short the time: others run meanwhile.
            self.park();
            if Instant::now() >= due {
                return;
            }
        }
    }

    /// Unwinds the running fiber if the runtime is ending. Returns true if the fiber already unwinds at the end: then
    /// it must not start others, which would keep the runtime alive.
    pub(crate) fn refuses_fibers(&self) -> bool {
        if context::current() == Context::Fiber {
            self.unwind_if_cancelled();
        }
        self.fibers.are_cancelled()
    }
}
