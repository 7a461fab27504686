//! [`JoinHandle`]: waiting for a fiber.

use crate::lane::error::{DelegationError, Origin, Reason};
use crate::structures::oneshot::OneshotReceiver;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::trust::Pending;
use crate::trust::apply::rethrow;
use crate::trust::cancel::Canceller;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A running fiber: what [`spawn`](crate::spawn) returns. Dropping it detaches the fiber.
///
/// A panic of a detached fiber is printed, with the line that started the fiber, and does not change the exit
/// status: other fibers go on, and the process ends with what `main` returns. Join a fiber if the exit status
/// is to depend on it: a panic of `main` gives status 101.
///
/// It is also a future, so other runtimes can `.await` a fiber.
#[must_use = "a fiber that nobody joins is cancelled when main returns"]
pub struct JoinHandle<U>(Pending<U>, Option<Canceller>);

impl<U> JoinHandle<U> {
    pub(crate) fn new(
        receiver: OneshotReceiver<Result<U, DelegationError>>,
        origin: Origin,
        canceller: Option<Canceller>,
    ) -> Self {
        Self(Pending::new(receiver, origin), canceller)
    }

    /// Waits until the fiber ends and returns its result.
    ///
    /// To wait for a limited time, use [`timeout`](crate::timeout); the fiber goes on, unless it is
    /// [cancelled](Self::cancel):
    ///
    /// ```
    /// use std::time::Duration;
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let mut slow = gossamer::spawn(|| gossamer::sleep(Duration::from_secs(3600)));
    /// if gossamer::timeout(Duration::from_millis(5), &mut slow).is_err() {
    ///     slow.cancel();
    /// }
    /// assert!(slow.try_join().is_err()); // has ended
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the fiber panicked (with its message), could not get a stack, or was cancelled; in a delegated closure or a
    /// callback, which cannot wait; and while the caller unwinds from a panic.
    #[track_caller]
    pub fn join(self) -> U {
        match self.try_join() {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    /// Like [`join`](Self::join), but returns an error instead of panicking.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let fiber = gossamer::spawn(|| -> u64 { panic!("out of tea") });
    /// assert!(fiber.try_join().unwrap_err().to_string().contains("out of tea"));
    /// # });
    /// ```
    ///
    /// # Errors
    /// If the fiber panicked, could not get a stack, or was cancelled.
    ///
    /// # Panics
    /// Where it cannot wait.
    #[track_caller]
    pub fn try_join(self) -> Result<U, DelegationError> {
        refuse_while_unwinding("joins a fiber", "join it before, or detach it");
        let on = self.1.as_ref().and_then(Canceller::awaited).unwrap_or(WaitsOn::Others);
        self.0.try_wait_as(Wait::in_call("join").on(on))
    }

    /// Cancels the fiber, on whichever node it is: the blocking call in which it waits, or its next one,
    /// unwinds it, as at the end of the runtime. A fiber that has not begun never begins: its worker drops
    /// what it captures, where no destructor can wait. Joining it gives
    /// [`Reason::Cancelled`](crate::Reason::Cancelled), unless it ends by itself first.
    ///
    /// This never waits, so the fiber may go on for a while: join it to know that it has ended. A call that
    /// waits for a trustee's answer is not left before the answer is there. Destructors run; a fiber that
    /// catches the panic is unwound again at its next blocking call, and the process ends if it keeps doing
    /// so. The cost is one message, and the fiber's worker looks through its fibers once for all that are
    /// cancelled in a turn. A coroutine of the crate `may` is not cancelled.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::Reason;
    /// let sleeper = gossamer::spawn(|| gossamer::sleep(std::time::Duration::from_secs(3600)));
    /// sleeper.cancel();
    /// assert_eq!(*sleeper.try_join().unwrap_err().reason(), Reason::Cancelled);
    /// # });
    /// ```
    pub fn cancel(&self) {
        if let Some(canceller) = self.1.as_ref().filter(|_| !self.is_finished()) {
            canceller.cancel();
        }
    }

    /// The part that cancels the fiber.
    pub(crate) fn canceller(&self) -> Option<Canceller> {
        self.1.clone()
    }

    /// The part that waits for the fiber, and the part that cancels it.
    pub(crate) fn into_parts(self) -> (Pending<U>, Option<Canceller>) {
        (self.0, self.1)
    }

    /// Whether the fiber has ended.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let fiber = gossamer::spawn(|| 7);
    /// while !fiber.is_finished() {
    ///     gossamer::yield_now();
    /// }
    /// assert_eq!(fiber.join(), 7);
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }
}

/// While a fiber unwinds no other fiber of its worker runs, so waiting for one of them would never end.
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

/// Why a fiber that was started has no result.
pub(crate) fn reason_of(payload: Box<dyn std::any::Any + Send>) -> Reason {
    if payload.is::<crate::worker::Cancelled>() {
        return Reason::Cancelled;
    }
    let crate::lane::catch::Caught { message, place } = crate::lane::catch::caught(payload);
    Reason::Panicked { message, place }
}
