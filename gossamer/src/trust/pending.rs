//! [`Pending`]: a result that is on its way.

use crate::lane::error::{DelegationError, Origin, Reason};
use crate::structures::oneshot::OneshotReceiver;
use crate::trust::apply::rethrow;
use crate::worker;
use crate::worker::fibers::wake::block_on;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// A result that is on its way: what [`Trust::apply_async`](crate::Trust::apply_async) returns.
///
/// [`wait`](Self::wait) for it in a fiber or on a thread, or `.await` it in any async runtime: whoever answers wakes
/// whoever waits. Dropping it does not stop the request.
///
/// # Panics
/// The future panics as [`wait`](Self::wait) does.
#[must_use = "the request is sent, but nobody sees its result; use `apply_then` if none is needed"]
pub struct Pending<U> {
    receiver: OneshotReceiver<Result<U, DelegationError>>,
    origin: Origin,
}

impl<U> Pending<U> {
    pub(crate) fn new(receiver: OneshotReceiver<Result<U, DelegationError>>, origin: Origin) -> Self {
        Self { receiver, origin }
    }

    /// Waits for the result. A fiber lets others run meanwhile; a thread that is no worker sleeps.
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

    /// As [`wait`](Self::wait), but returns why there is no result.
    ///
    /// # Errors
    /// If the closure panicked or its runtime ended.
    ///
    /// # Panics
    /// In a delegated closure or a callback.
    pub fn try_wait(self) -> Result<U, DelegationError> {
        let origin = self.origin;
        worker::with(|worker| worker.map(|here| here.require_fiber("wait")));
        // Often it is there already; then neither a waker nor a future is needed.
        let outcome = match self.receiver.try_take() {
            Some(outcome) => outcome,
            None => block_on(self.receiver, "wait"),
        };
        match outcome {
            Ok(outcome) => outcome.map_err(|error| origin.complete(error)),
            Err(_closed) => Err(origin.error(Reason::Ended)),
        }
    }

    /// Whether waiting would return at once.
    pub fn is_finished(&self) -> bool {
        self.receiver.is_finished()
    }
}

impl<U> Future for Pending<U> {
    type Output = U;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<U> {
        let origin = self.origin;
        match ready!(Pin::new(&mut self.receiver).poll(context)) {
            Ok(Ok(result)) => Poll::Ready(result),
            Ok(Err(error)) => panic!("{}", origin.complete(error)),
            Err(_closed) => panic!("{}", origin.error(Reason::Ended)),
        }
    }
}

impl<U> fmt::Debug for Pending<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("origin", &self.origin).finish_non_exhaustive()
    }
}
