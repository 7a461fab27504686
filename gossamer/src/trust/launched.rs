//! A launched closure: what its fiber does, at the trustee or afterwards at the caller.

use crate::lane::error::{DelegationError, Origin};
use crate::structures::inline_closure::InlineClosure;
use crate::structures::oneshot::{self, OneshotSender};
use crate::sys::fibers::job::{Job, JobId};
use crate::trust::hold::{HeldCell, hold};
use crate::trust::job::run_job;
use crate::trust::unawaited::report_unawaited;
use crate::trust::{Latch, NoRef, Pending};
use crate::worker;
use std::panic::Location;
use std::sync::Arc;

/// Calls `then` with the result of a launch, in a fiber of this worker.
pub(super) fn finish_in_fiber<U: 'static, R: FnOnce(U) + 'static>(
    pending: Pending<U>,
    then: R,
    sent_from: &'static Location<'static>,
) {
    let finish = move || match pending.try_wait() {
        Ok(result) => then(result),
        Err(error) => report_unawaited(error, sent_from),
    };
    #[cfg(feature = "tracing")]
    let finish = crate::spans::inside(finish);
    worker::with(|worker| match worker {
        None => finish(),
        Some(here) => {
            let (sender, _detached) = oneshot::channel();
            let origin = Origin::of::<R>(here.index as u32, sent_from);
            let start = InlineClosure::new(move |start| {
                run_job(finish, start, origin, |outcome| sender.send(outcome))
            });
            here.fibers.scheduler.submit(Job { start, spawned_at: sent_from, id: 0 });
        }
    });
}

/// The arguments of a launch on their way.
pub(super) struct Launched<C, U> {
    pub(super) arguments: C,
    pub(super) sender: OneshotSender<Result<U, DelegationError>>,
    pub(super) origin: Origin,
    pub(super) job: JobId,
}

/// A launched closure: what its fiber at the trustee does.
pub(super) trait Launch<T, C, U>: Send + 'static {
    /// Waits for the latch, and runs the closure.
    fn run(self, cell: Arc<HeldCell<T>>, arguments: C) -> U;
}

/// A closure that has the value to itself.
pub(super) struct Alone<F>(pub(super) F);

impl<T, C, U, F> Launch<T, C, U> for Alone<F>
where
    F: FnOnce(&mut T, C) -> U + Send + 'static,
{
    fn run(self, cell: Arc<HeldCell<T>>, arguments: C) -> U {
        let mut held = hold(cell, "launch");
        (self.0)(held.value(), arguments)
    }
}

/// At the trustee: starts the fiber that holds the latch.
pub(super) fn start_here<T, C, U, L>(latch: &mut Latch<T>, closure: L, launched: Launched<C, U>)
where
    T: Send + 'static,
    C: NoRef,
    U: NoRef,
    L: Launch<T, C, U>,
{
    let Launched { arguments, sender, origin, job } = launched;
    let cell = Arc::clone(&latch.0);
    let body = move || closure.run(cell, arguments);
    let start = InlineClosure::new(move |start| run_job(body, start, origin, |outcome| sender.send(outcome)));
    worker::with(|worker| {
        if let Some(here) = worker {
            here.fibers.scheduler.submit(Job { start, spawned_at: origin.sent_from(), id: job });
        }
    });
}
