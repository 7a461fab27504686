//! [`Pending`]: a result that is on its way.

use crate::lane::error::{DelegationError, Origin, Reason};
use crate::structures::oneshot::OneshotReceiver;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::trust::apply::rethrow;
use crate::worker;
use crate::worker::fibers::wake::{block_on_as, poll_or_wait};
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A result that is on its way: what [`Trust::apply_async`](crate::Trust::apply_async) returns.
///
/// [`wait`](Self::wait) for it in a fiber or on a thread, or `.await` it in any async runtime: the answer wakes the
/// waiter. Dropping it does not stop the request; if that fails, the error is printed.
///
/// In a fiber use [`block_on`](crate::block_on) to await several of them. Another executor that runs in a fiber
/// (`block_on` of the crates `futures` or `tokio`) does not know fibers and would block the whole worker, so there
/// the future waits while it is polled, as [`wait`](Self::wait) does.
///
/// # Panics
/// The future panics as [`wait`](Self::wait) does.
#[must_use = "the request is sent, but nobody sees its result: use `apply_unawaited` for a closure that returns nothing"]
pub struct Pending<U> {
    receiver: OneshotReceiver<Result<U, DelegationError>>,
    origin: Origin,
}

impl<U> Pending<U> {
    pub(crate) fn new(receiver: OneshotReceiver<Result<U, DelegationError>>, origin: Origin) -> Self {
        Self { receiver, origin }
    }

    /// What a report says about the request.
    pub(super) fn origin(&self) -> Origin {
        self.origin
    }

    /// Waits for the result. A fiber lets other fibers run meanwhile; a thread that is not a worker sleeps.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let count = gossamer::Trustee::all()[1].entrust(1_u64);
    /// let pending = count.apply_async(|count| *count);
    /// // … something else meanwhile …
    /// assert_eq!(pending.wait(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panicked or its runtime ended; and in a delegated closure or a callback, which cannot wait.
    #[track_caller]
    pub fn wait(self) -> U {
        match self.try_wait() {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    /// Like the future, but returns an error instead of panicking.
    pub(crate) fn poll_outcome(&mut self, context: &mut Context<'_>) -> Poll<Result<U, DelegationError>> {
        let origin = self.origin;
        match ready!(poll_or_wait(Pin::new(&mut self.receiver), context, "await")) {
            Ok(outcome) => Poll::Ready(outcome.map_err(|error| origin.complete(error))),
            Err(_closed) => Poll::Ready(Err(origin.error(Reason::Ended))),
        }
    }

    /// Like [`wait`](Self::wait), but returns an error.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let count = gossamer::Trustee::all()[1].entrust(0_u64);
    /// let error = count.apply_async(|count| 1 / *count).try_wait().unwrap_err();
    /// assert!(error.to_string().contains("divide by zero"));
    /// # });
    /// ```
    ///
    /// # Errors
    /// If the closure panicked or its runtime ended.
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    #[track_caller]
    pub fn try_wait(self) -> Result<U, DelegationError> {
        let (of, worker) = self.origin.closure();
        self.try_wait_as(Wait::in_call("wait").on(WaitsOn::Result { of, worker }))
    }

    /// Like `try_wait`, named as another call in reports.
    #[track_caller]
    pub(crate) fn try_wait_as(self, wait: Wait) -> Result<U, DelegationError> {
        let origin = self.origin;
        worker::require_fiber(wait.call);
        // The result is often there already; then neither a waker nor a future is needed.
        let outcome = match self.receiver.try_take() {
            Some(outcome) => outcome,
            None => block_on_as(self.receiver, wait),
        };
        match outcome {
            Ok(outcome) => outcome.map_err(|error| origin.complete(error)),
            Err(_closed) => Err(origin.error(Reason::Ended)),
        }
    }

    /// A future of the result or an error, which does not panic: [`try_wait`](Self::try_wait) for async code.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let list = gossamer::entrust(vec![1, 2]);
    /// let pending = list.apply_async(|list| list[7]);
    /// let outcome = gossamer::block_on(pending.outcome());
    /// assert!(outcome.unwrap_err().to_string().contains("index out of bounds"));
    /// # });
    /// ```
    pub fn outcome(self) -> PendingOutcome<U> {
        PendingOutcome(self)
    }

    /// Whether waiting would return at once.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let count = gossamer::Trustee::all()[1].entrust(1_u64);
    /// let pending = count.apply_async(|count| *count);
    /// while !pending.is_finished() {
    ///     gossamer::yield_now(); // or some of the work at hand
    /// }
    /// assert_eq!(pending.wait(), 1);
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished()
    }
}

impl<U> Future for Pending<U> {
    type Output = U;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<U> {
        match ready!(self.poll_outcome(context)) {
            Ok(result) => Poll::Ready(result),
            Err(error) => panic!("{error}"),
        }
    }
}

/// The result of a [`Pending`] or an error, as a future: what [`Pending::outcome`] returns.
#[must_use = "futures do nothing unless they are polled"]
#[derive(Debug)]
pub struct PendingOutcome<U>(Pending<U>);

impl<U> Future for PendingOutcome<U> {
    type Output = Result<U, DelegationError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        self.0.poll_outcome(context)
    }
}

impl<U> fmt::Debug for Pending<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("origin", &self.origin).finish_non_exhaustive()
    }
}
