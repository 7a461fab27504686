//! [`Latch`]: a property whose closures may block, each in a fiber of its own.
//!
//! Invariants
//! - H1: the value is reachable only through a `Held`, and at most one `Held` of a latch exists. Under the lock `taken`
//!   goes from false to true when one is made; when it drops, either `taken` goes back, or `next` names the one waiter
//!   that may make another, which clears it.
//! - H2: the value lives in an `Arc` of its own, so moving or dropping the `Latch` does not move or drop what a
//!   `Held` refers to.

use crate::lane::error::{DelegationError, Origin};
use crate::lane::operation::{Delegated, refuse_captures};
use crate::structures::inline_closure::InlineClosure;
use crate::structures::oneshot::{self, OneshotReceiver, OneshotSender};
use crate::sys::fibers::fiber::Job;
use crate::trust::apply::rethrow;
use crate::trust::call::report_unawaited;
use crate::trust::job::run_job;
use crate::trust::join::refuse_while_unwinding;
use crate::trust::remote::{self, Asked};
use crate::trust::{NoRef, Pending, Trust};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::worker::fibers::wake::block_on;
use crate::worker::{self, with_worker};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A property whose closures run in fibers of their own and may block, on other trusts too.
///
/// An ordinary delegated closure must not block, since its trustee would stand still. A closure
/// [`launch`](Trust::launch)ed on a `Trust<Latch<T>>` runs in a fiber at the trustee that holds the latch: the value is
/// that fiber's until the closure ends, and others wait for it, first come, first served.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::{Latch, Trustee};
/// let audit = Trustee::all()[1].entrust(0_u64);
/// let account = gossamer::entrust(Latch::new(100_u64));
/// let left = account.launch_with(
///     |balance, audit| {
///         *balance -= 30;
///         audit.apply_with(|sum, by| *sum += by, 30_u64); // blocks this fiber only
///         *balance
///     },
///     audit.clone(),
/// );
/// assert_eq!((left, audit.apply(|sum| *sum)), (70, 30));
/// # });
/// ```
pub struct Latch<T>(Arc<Cell<T>>);

struct Cell<T> {
    state: Mutex<LatchState>,
    value: UnsafeCell<T>,
}

#[derive(Default)]
struct LatchState {
    /// Somebody holds the latch, or is named by `next`.
    taken: bool,
    /// The number of the waiter whose turn it is.
    next: Option<u64>,
    /// Numbers given to waiters so far.
    numbers: u64,
    waiting: VecDeque<(u64, Waker)>,
}

// SAFETY: H1: the lock hands the value from one holder to the next; it may move between threads if `T` may.
unsafe impl<T: Send> Sync for Cell<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Cell<T> {}

// SAFETY: a latch that is entrusted is held by nobody else: it cannot be cloned, and holders are fibers launched on
// a property.
unsafe impl<T: NoRef> NoRef for Latch<T> {
    fn encode(self, to: &mut Encoder) {
        match Arc::try_unwrap(self.0) {
            Ok(cell) => cell.value.into_inner().encode(to),
            Err(held) => to.refuse(Self(held)),
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        from.given_back().map_or_else(|| T::decode(from).map(Self::new), Ok)
    }
}

impl<T> Latch<T> {
    /// A latch over a value, to be entrusted.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Cell { state: Mutex::default(), value: UnsafeCell::new(value) }))
    }
}

impl<T> fmt::Debug for Latch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Latch").field("held", &self.0.state().taken).finish_non_exhaustive()
    }
}

impl<T> Cell<T> {
    fn state(&self) -> MutexGuard<'_, LatchState> {
        // No user code runs under the lock, so it cannot be poisoned by one.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The holder is done with the latch: it is the turn of whoever has waited longest.
    fn pass_on(&self) {
        let next = {
            let mut state = self.state();
            let next = state.waiting.pop_front();
            state.taken = next.is_some();
            state.next = next.as_ref().map(|(number, _)| *number);
            next
        };
        if let Some((_, waker)) = next {
            waker.wake();
        }
    }
}

/// Waiting for a latch: first come, first served.
struct Hold<T> {
    cell: Arc<Cell<T>>,
    /// Where this is one of those who wait, its number.
    number: Option<u64>,
}

impl<T> Future for Hold<T> {
    type Output = Held<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Held<T>> {
        let cell = Arc::clone(&self.cell);
        let mut state = cell.state();
        match self.number {
            None if !state.taken => state.taken = true,
            None => {
                let number = state.numbers;
                state.numbers += 1;
                state.waiting.push_back((number, context.waker().clone()));
                self.number = Some(number);
                return Poll::Pending;
            }
            Some(number) if state.next == Some(number) => {
                state.next = None;
                self.number = None;
            }
            // Woken for another reason; the waker of a fiber is always the same.
            Some(_) => return Poll::Pending,
        }
        drop(state);
        Poll::Ready(Held(cell))
    }
}

impl<T> Drop for Hold<T> {
    fn drop(&mut self) {
        let Some(number) = self.number else { return };
        let is_next = {
            let mut state = self.cell.state();
            state.waiting.retain(|(other, _)| *other != number);
            state.next == Some(number)
        };
        if is_next {
            self.cell.pass_on();
        }
    }
}

/// The right to use the value of a latch (H1).
struct Held<T>(Arc<Cell<T>>);

impl<T> Held<T> {
    fn value(&mut self) -> &mut T {
        // SAFETY: H1: this is the only `Held` of the latch, and it is borrowed exclusively. H2: the value stays.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T> Drop for Held<T> {
    fn drop(&mut self) {
        self.0.pass_on();
    }
}

impl<T: Send + 'static> Trust<Latch<T>> {
    /// Runs a closure in a fiber of its own at the trustee, with the latch held, and returns its result. The closure
    /// may block, on other trusts too; of two that wait for each other's latch neither ends, as with two mutexes.
    ///
    /// If it panics the latch is released and the value stays as the panic left it.
    ///
    /// # Panics
    /// If the closure panics; in a delegated closure or a callback, which cannot wait; if the runtime has ended; and
    /// in a fiber that unwinds from a panic, since the closure may wait for others of its worker.
    #[track_caller]
    pub fn launch<U: NoRef, F>(&self, closure: F) -> U
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
    {
        refuse_captures!(F);
        self.launch_and_wait::<F, _, _, _>(|value, ()| closure(value), (), Location::caller())
    }

    /// As [`launch`](Self::launch), with arguments handed to the closure.
    ///
    /// # Panics
    /// As [`launch`](Self::launch).
    #[track_caller]
    pub fn launch_with<C: NoRef, U: NoRef, F>(&self, closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        refuse_captures!(F);
        self.launch_and_wait::<F, _, _, _>(closure, arguments, Location::caller())
    }

    /// As [`launch`](Self::launch), without waiting: `then` is called with the result in a fiber of this worker, so
    /// it may block. If the closure panics, the error is printed and `then` is dropped. On a thread that is no worker
    /// this waits.
    #[track_caller]
    pub fn launch_then<U: NoRef, F, R>(&self, closure: F, then: R)
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        refuse_captures!(F);
        let pending = self.start::<F, _, _, _>(|value, ()| closure(value), (), Location::caller());
        finish_in_fiber(pending, then, Location::caller());
    }

    /// As [`launch_then`](Self::launch_then), with arguments handed to the closure.
    #[track_caller]
    pub fn launch_with_then<C: NoRef, U: NoRef, F, R>(&self, closure: F, arguments: C, then: R)
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        refuse_captures!(F);
        let pending = self.start::<F, _, _, _>(closure, arguments, Location::caller());
        finish_in_fiber(pending, then, Location::caller());
    }

    #[track_caller]
    fn launch_and_wait<N, C: NoRef, U: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        worker::with(|worker| worker.map(|here| here.require_fiber("launch")));
        // At any trustee: the closure may wait for a fiber of this worker, over however many others.
        refuse_while_unwinding("launches a closure", "launch it before, or use `launch_then`");
        match self.start::<N, _, _, _>(closure, arguments, sent_from).try_wait() {
            Ok(result) => result,
            Err(error) => rethrow(error, sent_from),
        }
    }

    /// Sends the closure to the trustee, which starts its fiber.
    fn start<N, C: NoRef, U: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let origin = Origin::of::<N>(self.trustee().index() as u32, sent_from);
        if !self.target().is_here() {
            return self.start_elsewhere::<N, _, _, _>(closure, arguments, (origin, sender), receiver);
        }
        let launch = |latch: &mut Latch<T>, launched| start_here(latch, closure, launched);
        // The request itself is answered at once; the fiber sends the outcome. If the request cannot be served, its
        // arguments are dropped, and with them the sender, which tells who waits.
        self.target().send_here(Delegated::of::<N, _>(launch), Launched { arguments, sender, origin });
        Pending::new(receiver, origin)
    }

    /// Sends the closure to the trustee of another node, which starts its fiber.
    fn start_elsewhere<N, C: NoRef, U: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
        to: (Origin, OneshotSender<Result<U, DelegationError>>),
        receiver: OneshotReceiver<Result<U, DelegationError>>,
    ) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        let launch = move |latch: &mut Latch<T>, (asked, arguments): (Asked, C)| {
            let body = holding(latch, closure, arguments);
            with_worker(|here| here.fibers.scheduler.submit(asked.job::<N, U>(here, body)));
        };
        let (origin, delegated) = (to.0, Delegated::travelling::<N, _>(launch));
        self.target().on_a_worker(move |here, target| {
            remote::ask::<N, _, _, _>(here, (target.index() as usize, target), delegated, arguments, to);
        });
        Pending::new(receiver, origin)
    }
}

/// Calls `then` with the result of a launch, in a fiber of this worker.
fn finish_in_fiber<U: 'static, R: FnOnce(U) + 'static>(
    pending: Pending<U>,
    then: R,
    sent_from: &'static Location<'static>,
) {
    let finish = move || match pending.try_wait() {
        Ok(result) => then(result),
        Err(error) => report_unawaited(error, sent_from),
    };
    worker::with(|worker| match worker {
        None => finish(),
        Some(here) => {
            let (sender, _detached) = oneshot::channel();
            let origin = Origin::of::<R>(here.index as u32, sent_from);
            let start = InlineClosure::new(move |start| {
                run_job(finish, start, origin, |outcome| sender.send(outcome))
            });
            here.fibers.scheduler.submit(Job { start, spawned_at: sent_from });
        }
    });
}

/// The arguments of a launch on their way.
struct Launched<C, U> {
    arguments: C,
    sender: OneshotSender<Result<U, DelegationError>>,
    origin: Origin,
}

/// What the fiber at the trustee does: it waits for the latch, and runs the closure.
fn holding<T, C, U>(
    latch: &Latch<T>,
    closure: impl FnOnce(&mut T, C) -> U + 'static,
    arguments: C,
) -> impl FnOnce() -> U + 'static
where
    T: Send + 'static,
    C: 'static,
{
    let cell = Arc::clone(&latch.0);
    move || {
        let mut held = block_on(Hold { cell, number: None }, "launch");
        closure(held.value(), arguments)
    }
}

/// At the trustee: starts the fiber that holds the latch.
fn start_here<T, C, U, F>(latch: &mut Latch<T>, closure: F, launched: Launched<C, U>)
where
    T: Send + 'static,
    C: NoRef,
    U: NoRef,
    F: FnOnce(&mut T, C) -> U + Send + 'static,
{
    let Launched { arguments, sender, origin } = launched;
    let body = holding(latch, closure, arguments);
    let start = InlineClosure::new(move |start| run_job(body, start, origin, |outcome| sender.send(outcome)));
    worker::with(|worker| {
        if let Some(here) = worker {
            here.fibers.scheduler.submit(Job { start, spawned_at: origin.sent_from() });
        }
    });
}
