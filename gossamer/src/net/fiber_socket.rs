//! A socket that can be waited for: a fiber waits for its worker's poller, any other thread for the kernel.

use crate::net::registrations::{Registrations, WatchedSource, with_caller};
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::sys::sync::poll;
use crate::sys::threads::outside;
use crate::worker::fibers::readiness::{Direction, Readiness};
use crate::worker::fibers::timer::Timer;
use crate::worker::fibers::wake::{awaited, block_on_as};
use crate::worker::{self, Worker};
use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io;
use std::os::fd::AsFd;
use std::panic::Location;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// Calls on sockets of one worker after which the caller lets others run, even if no call has to wait: a peer that
/// sends without pause must not keep the worker from its trustee.
const CALLS_PER_TURN: u32 = 16;

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// A non-blocking socket, or another descriptor that a poller can watch.
pub(crate) struct FiberSocket<S> {
    /// Before `io`, so that the descriptor is deregistered while it is open.
    registrations: Registrations,
    io: S,
}

/// One call that may have to wait.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    /// The name of the call, as its user wrote it.
    pub(crate) name: &'static str,
    pub(crate) direction: Direction,
    /// How long it may wait.
    pub(crate) limit: Option<Duration>,
    /// The caller.
    at: &'static Location<'static>,
}

impl<S: AsFd> FiberSocket<S> {
    /// `io` is in non-blocking mode.
    pub(crate) fn new(io: S) -> Self {
        Self { registrations: Registrations::default(), io }
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
    pub(crate) fn wait<R>(&self, call: Call, attempt: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        self.wait_noting(call, attempt, |_| false)
    }

    /// Like `wait`, for a read of a stream into `capacity` bytes, where a read that returns fewer has drained the
    /// stream: see `readiness` for the streams that this is true of.
    ///
    /// # Errors
    /// Like `wait`.
    ///
    /// # Panics
    /// Like `wait`.
    pub(crate) fn wait_for_bytes(
        &self,
        call: Call,
        capacity: usize,
        attempt: impl FnMut(&S) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.wait_noting(call, attempt, |&count| has_drained(count, capacity))
    }

    #[track_caller]
    fn wait_noting<R>(
        &self,
        call: Call,
        mut attempt: impl FnMut(&S) -> io::Result<R>,
        has_drained: impl Fn(&R) -> bool,
    ) -> io::Result<R> {
        check_may_wait(call.name);
        let mut registered = self.registrations.find();
        let (mut due, mut timed_out) = (None, false);
        // A caller that cannot wait gets what is there, even if its poller has not been asked for a while.
        let mut is_drained =
            self.is_drained(registered.as_deref(), call.direction) && !std::thread::panicking();
        loop {
            // Before the attempt: see `readiness`.
            let seen = registered.as_deref().map_or(0, |readiness| readiness.events(call.direction));
            if !is_drained && let Some(outcome) = unless_it_blocks(attempt(&self.io)) {
                note_if_drained(registered.as_deref(), seen, outcome.as_ref().is_ok_and(&has_drained));
                return outcome;
            }
            is_drained = false;
            if timed_out {
                return Err(call.timed_out());
            }
            if due.is_none() {
                due = call.limit.and_then(|limit| Instant::now().checked_add(limit));
            }
            // One more attempt after the deadline: a busy worker's poller may be late.
            timed_out = !self.wait_for_event(call, &mut registered, seen, due)?;
        }
    }

    fn is_drained(&self, registered: Option<&Readiness>, direction: Direction) -> bool {
        direction == Direction::Read
            && registered.is_some_and(|readiness| readiness.is_drained(readiness.events(direction)))
    }

    /// Waits until there may have been an event that was not `seen`; false once `due` has passed.
    fn wait_for_event<'a>(
        &'a self,
        call: Call,
        registered: &mut Option<WatchedSource<'a>>,
        seen: u64,
        due: Option<Instant>,
    ) -> io::Result<bool> {
        with_caller(|caller| match caller {
            Some(_) if std::thread::panicking() => Err(refused_while_unwinding(call.name)),
            Some(here) => {
                let readiness = self.registered(registered)?;
                Ok(wait_in_fiber(here, readiness, call, seen, due))
            }
            None => {
                let write = call.direction == Direction::Write;
                let timeout = due.map(|due| due.saturating_duration_since(Instant::now()));
                poll::wait_for(self.io.as_fd(), write, timeout)?;
                Ok(due.is_none_or(|due| Instant::now() < due))
            }
        })
    }

    /// The caller's entry, which is made if there was none.
    ///
    /// # Errors
    /// If the kernel refuses.
    fn registered<'a, 'b>(&'a self, known: &'b mut Option<WatchedSource<'a>>) -> io::Result<&'b Readiness> {
        let entry = match known.take() {
            Some(entry) => entry,
            None => self.registrations.register(self.io.as_fd())?,
        };
        Ok(known.insert(entry))
    }

    /// Tries an operation until it does not block: like `wait`, for any executor that polls it, without a limit.
    ///
    /// # Errors
    /// The operation's.
    pub(crate) async fn wait_async<R>(
        &self,
        direction: Direction,
        attempt: impl FnMut(&S) -> io::Result<R>,
    ) -> io::Result<R> {
        self.wait_async_noting(direction, attempt, |_| false).await
    }

    /// Like `wait_for_bytes`, for any executor.
    ///
    /// # Errors
    /// The operation's.
    pub(crate) async fn wait_for_bytes_async(
        &self,
        capacity: usize,
        attempt: impl FnMut(&S) -> io::Result<usize>,
    ) -> io::Result<usize> {
        self.wait_async_noting(Direction::Read, attempt, |&count| has_drained(count, capacity)).await
    }

    async fn wait_async_noting<R>(
        &self,
        direction: Direction,
        mut attempt: impl FnMut(&S) -> io::Result<R>,
        has_drained: impl Fn(&R) -> bool,
    ) -> io::Result<R> {
        // The poller of the first poll is used from here on.
        let mut registered = self.registrations.find();
        let mut is_drained = self.is_drained(registered.as_deref(), direction);
        loop {
            // Before the attempt: see `readiness`.
            let seen = registered.as_deref().map_or(0, |readiness| readiness.events(direction));
            if !is_drained && let Some(outcome) = unless_it_blocks(attempt(&self.io)) {
                note_if_drained(registered.as_deref(), seen, outcome.as_ref().is_ok_and(&has_drained));
                return outcome;
            }
            is_drained = false;
            let readiness = self.registered(&mut registered)?;
            awaited(readiness.event_after(direction, seen), "await").await;
        }
    }
}

/// The outcome of an attempt; `None` if it would block.
fn unless_it_blocks<R>(outcome: io::Result<R>) -> Option<io::Result<R>> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
        outcome => Some(outcome),
    }
}

fn note_if_drained(registered: Option<&Readiness>, seen: u64, is_drained: bool) {
    if let Some(readiness) = registered.filter(|_| is_drained) {
        readiness.note_drained(seen);
    }
}

/// Whether a read has drained the stream.
fn has_drained(count: usize, capacity: usize) -> bool {
    0 < count && count < capacity
}

/// Whether an operation in this direction would not block now, in the form of an attempt.
///
/// # Errors
/// `WouldBlock` if it would.
pub(crate) fn is_ready(io: &impl AsFd, direction: Direction) -> io::Result<()> {
    match poll::wait_for(io.as_fd(), direction == Direction::Write, Some(Duration::ZERO))? {
        true => Ok(()),
        false => Err(io::ErrorKind::WouldBlock.into()),
    }
}

impl Call {
    /// A call of the caller's caller.
    #[track_caller]
    pub(crate) fn new(name: &'static str, direction: Direction, limit: Option<Duration>) -> Self {
        Self { name, direction, limit, at: Location::caller() }
    }

    #[cold]
    fn timed_out(&self) -> io::Error {
        let limit = self.limit.unwrap_or_default();
        io::Error::new(io::ErrorKind::TimedOut, format!("`{}` has waited for {limit:?}", self.name))
    }
}

/// The error of a call that would have to wait while its fiber unwinds.
#[cold]
pub(crate) fn refused_while_unwinding(call: &str) -> io::Error {
    let text = format!("`{call}` would have to wait, while its fiber unwinds from a panic");
    io::Error::new(io::ErrorKind::WouldBlock, text)
}

/// Checks that the caller may wait, whether or not it has to, and lets others run now and then.
///
/// # Panics
/// In a delegated closure or a callback.
#[track_caller]
pub(crate) fn check_may_wait(call: &str) {
    if with_caller(|caller| caller.is_none()) {
        return outside::require_thread(call);
    }
    worker::require_fiber(call);
    worker::with_worker(|here| {
        let calls = CALLS.get().wrapping_add(1);
        CALLS.set(calls);
        if calls.is_multiple_of(CALLS_PER_TURN) {
            here.yield_now();
        }
    });
}

/// Suspends the running fiber until there was an event that was not `seen`; false once `due` has passed.
#[track_caller]
fn wait_in_fiber(here: &Worker, readiness: &Readiness, call: Call, seen: u64, due: Option<Instant>) -> bool {
    let _alarm = due.map(|due| Alarm(here.fibers.timers.register(due, here.fiber_waker())));
    let mut event = pin!(readiness.event_after(call.direction, seen));
    let event_or_due = poll_fn(|context| match event.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(true),
        Poll::Pending if due.is_some_and(|due| Instant::now() >= due) => Poll::Ready(false),
        Poll::Pending => Poll::Pending,
    });
    block_on_as(event_or_due, Wait { call: call.name, at: call.at, on: WaitsOn::Event })
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
