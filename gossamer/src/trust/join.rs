//! [`JoinHandle`]: waiting for a fiber.

use crate::lane::error::{DelegationError, Origin, Reason};
use crate::structures::oneshot::OneshotReceiver;
use crate::trust::Pending;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A running fiber: what [`spawn`](crate::spawn) returns. Dropping it detaches the fiber.
///
/// It is a future too, so that other runtimes can `.await` a fiber.
#[must_use = "a fiber that nobody joins is cancelled when main returns"]
pub struct JoinHandle<U>(Pending<U>);

impl<U> JoinHandle<U> {
    pub(crate) fn new(receiver: OneshotReceiver<Result<U, DelegationError>>, origin: Origin) -> Self {
        Self(Pending::new(receiver, origin))
    }

    /// Waits until the fiber ends and returns its result.
    ///
    /// # Panics
    /// If the fiber panicked (with its message), could not get a stack, or was cancelled; in a delegated closure or a
    /// callback, which cannot wait; and while the caller unwinds from a panic.
    #[track_caller]
    pub fn join(self) -> U {
        refuse_while_unwinding("joins a fiber", "join it before, or detach it");
        self.0.wait()
    }

    /// As [`join`](Self::join), but returns why there is no result.
    ///
    /// # Errors
    /// If the fiber panicked, could not get a stack, or was cancelled.
    ///
    /// # Panics
    /// Where it cannot wait.
    #[track_caller]
    pub fn try_join(self) -> Result<U, DelegationError> {
        refuse_while_unwinding("joins a fiber", "join it before, or detach it");
        self.0.try_wait()
    }

    /// Whether the fiber has ended.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// A fiber that unwinds keeps its worker to itself, so another fiber of that worker would never end.
#[track_caller]
pub(crate) fn refuse_while_unwinding(act: &str, advice: &str) {
    if std::thread::panicking() && crate::worker::with(|worker| worker.is_some()) {
        panic!("a destructor {act} while its own fiber unwinds from a panic: {advice}");
    }
}

impl<U> Future for JoinHandle<U> {
    type Output = U;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<U> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<U> fmt::Debug for JoinHandle<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JoinHandle").field(&self.0).finish()
    }
}

/// Why a fiber that was started gave no result.
pub(crate) fn reason_of(payload: Box<dyn std::any::Any + Send>) -> Reason {
    if payload.is::<crate::worker::Cancelled>() {
        return Reason::Cancelled;
    }
    let crate::lane::catch::Caught { message, place } = crate::lane::catch::caught(payload);
    Reason::Panicked { message, place }
}
