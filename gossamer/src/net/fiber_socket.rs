//! A socket with what is needed to wait for it: a fiber waits for its worker's poller, any other thread for the kernel.

use crate::lane::context::{self, Context};
use crate::sys::sync::poll;
use crate::sys::threads::outside;
use crate::worker::fibers::readiness::{Direction, Readiness};
use crate::worker::fibers::timer::Timer;
use crate::worker::fibers::wake::block_on;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker};
use mio::Token;
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

/// Calls on sockets of one worker after which the caller lets others run, even if no call has to wait: a peer that
/// sends without pause must not keep the worker from its trustee.
const CALLS_PER_TURN: u32 = 16;

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// A non-blocking socket.
pub(crate) struct FiberSocket<S> {
    /// Before `io`, so that the descriptor is deregistered while it is open. One for each living runtime that had to
    /// wait for it.
    registrations: Mutex<Vec<Registration>>,
    io: S,
}

/// The socket's entry in the poller of one worker.
struct Registration {
    runtime: Weak<Shared>,
    worker: usize,
    token: Token,
    readiness: Arc<Readiness>,
    descriptor: RawFd,
}

impl Drop for Registration {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.upgrade() {
            runtime.mailbox(self.worker).sources.deregister(self.descriptor, self.token);
        }
    }
}

/// One call that may have to wait.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// As its user wrote it.
    pub(crate) name: &'static str,
    pub(crate) direction: Direction,
    /// How long it may wait.
    pub(crate) limit: Option<Duration>,
}

impl<S: AsFd> FiberSocket<S> {
    /// `io` is in non-blocking mode.
    pub(crate) fn new(io: S) -> Self {
        Self { registrations: Mutex::default(), io }
    }

    pub(crate) fn io(&self) -> &S {
        &self.io
    }

    pub(crate) fn into_io(self) -> S {
        drop(self.registrations);
        self.io
    }

    /// Tries an operation until it would not block.
    ///
    /// # Errors
    /// The operation's, and `TimedOut` if the call has waited for as long as it may.
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    pub(crate) fn wait<R>(&self, call: Call, mut attempt: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        check_may_wait(call.name);
        let (mut due, mut timed_out) = (None, false);
        loop {
            // Before the attempt: see `readiness`.
            let seen = self.events(call.direction);
            match attempt(&self.io) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                outcome => return outcome,
            }
            if timed_out {
                return Err(call.timed_out());
            }
            if due.is_none() {
                due = call.limit.and_then(|limit| Instant::now().checked_add(limit));
            }
            // One more attempt after the last moment: a busy worker's poller may be late.
            timed_out = !self.wait_for_event(call, seen, due)?;
        }
    }

    /// Waits until there may have been an event that was not `seen`; false once `due` has come.
    fn wait_for_event(&self, call: Call, seen: u64, due: Option<Instant>) -> io::Result<bool> {
        worker::with(|worker| match worker.filter(|_| is_on_worker()) {
            Some(_) if std::thread::panicking() => Err(refused_while_unwinding(call.name)),
            Some(here) => {
                let readiness = self.register(here)?;
                Ok(wait_in_fiber(here, &readiness, call, seen, due))
            }
            None => {
                let write = call.direction == Direction::Write;
                let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
                poll::wait_for(self.io.as_fd(), write, timeout)?;
                Ok(due.is_none_or(|due| Instant::now() < due))
            }
        })
    }

    fn registrations(&self) -> MutexGuard<'_, Vec<Registration>> {
        // No user code runs under the lock, so it cannot be poisoned by one.
        self.registrations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The events that this runtime's poller has reported: none if the socket is not registered there.
    fn events(&self, direction: Direction) -> u64 {
        worker::with(|worker| {
            let here = worker?;
            let registrations = self.registrations();
            let registration = registrations.iter().find(|registration| registration.is_of(&here.shared))?;
            Some(registration.readiness.events(direction))
        })
        .unwrap_or(0)
    }

    /// The socket's entry with a poller of this runtime: of this worker, unless another was first.
    fn register(&self, here: &Worker) -> io::Result<Arc<Readiness>> {
        let mut registrations = self.registrations();
        if let Some(registration) = registrations.iter().find(|registration| registration.is_of(&here.shared))
        {
            return Ok(Arc::clone(&registration.readiness));
        }
        registrations.retain(|registration| registration.runtime.strong_count() > 0);
        let descriptor = self.io.as_fd().as_raw_fd();
        let (token, readiness) = here.shared.mailbox(here.index).sources.register(descriptor)?;
        let runtime = Arc::downgrade(&here.shared);
        let registration = Registration {
            runtime,
            worker: here.index,
            token,
            readiness: Arc::clone(&readiness),
            descriptor,
        };
        registrations.push(registration);
        Ok(readiness)
    }
}

impl Registration {
    fn is_of(&self, runtime: &Arc<Shared>) -> bool {
        self.runtime.as_ptr() == Arc::as_ptr(runtime)
    }
}

impl Call {
    #[cold]
    fn timed_out(&self) -> io::Error {
        let limit = self.limit.unwrap_or_default();
        io::Error::new(io::ErrorKind::TimedOut, format!("`{}` has waited for {limit:?}", self.name))
    }
}

/// What a call gets that would have to wait while its fiber unwinds.
#[cold]
pub(crate) fn refused_while_unwinding(call: &str) -> io::Error {
    let text = format!("`{call}` would have to wait, while its fiber unwinds from a panic");
    io::Error::new(io::ErrorKind::WouldBlock, text)
}

/// Whether the calling code is a worker's, and not just on its thread.
fn is_on_worker() -> bool {
    context::current() != Context::Outside
}

/// Checks that the calling code may wait, whether or not it will have to, and lets others run now and then.
///
/// # Panics
/// In a delegated closure or a callback.
pub(crate) fn check_may_wait(call: &str) {
    worker::with(|worker| {
        let Some(here) = worker.filter(|_| is_on_worker()) else { return outside::require_thread(call) };
        here.require_fiber(call);
        let calls = CALLS.get().wrapping_add(1);
        CALLS.set(calls);
        if calls.is_multiple_of(CALLS_PER_TURN) {
            here.yield_now();
        }
    });
}

/// Suspends the running fiber until there was an event that was not `seen`; false once `due` has come.
fn wait_in_fiber(here: &Worker, readiness: &Readiness, call: Call, seen: u64, due: Option<Instant>) -> bool {
    let _alarm = due.map(|due| Alarm(here.fibers.timers.register(due, here.fiber_waker())));
    let mut event = pin!(readiness.event_after(call.direction, seen));
    let event_or_due = poll_fn(|context| match event.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending if due.is_some_and(|due| Instant::now() >= due) => Poll::Ready(false),
        Poll::Pending => Poll::Pending,
    });
    block_on(event_or_due, call.name)
}

/// A timer of this worker, cancelled when nobody waits for it any more.
struct Alarm(Timer);

impl Drop for Alarm {
    fn drop(&mut self) {
        worker::with(|worker| {
            if let Some(here) = worker {
                here.fibers.timers.cancel(self.0);
            }
        });
    }
}
