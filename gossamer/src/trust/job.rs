//! The job of a fiber: a body, and the receiver of its outcome.

use crate::lane::catch;
use crate::lane::error::{DelegationError, Origin, Reason};
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::job::NotStarted;
use crate::trust::fiber_local::drop_locals;
use crate::trust::join::reason_of;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

/// The outcome of a fiber on its way to a handle: its error is printed if nobody takes it. An error that comes from
/// another node does not know the line that started the fiber.
pub(super) fn or_printed<U>(
    outcome: Result<U, DelegationError>,
    origin: Origin,
) -> Result<U, DelegationError> {
    outcome.map_err(|error| origin.complete(error).printed_unless_taken("a fiber whose handle"))
}

/// Runs the body of a fiber and sends its outcome.
pub(super) fn run_job<U>(
    body: impl FnOnce() -> U,
    start: Result<(), NotStarted>,
    origin: Origin,
    to: impl FnOnce(Result<U, DelegationError>),
) {
    let to = Cell::new(Some(to));
    let tell = |outcome: Result<U, Reason>| {
        if let Some(to) = to.take() {
            to(outcome.map_err(|reason| origin.error(reason)));
        }
    };
    // A fiber must not unwind: not from the destructors of a body that cannot start, nor from those of a
    // result that nobody receives.
    let job = || {
        #[cfg(feature = "tracing")]
        crate::spans::clear();
        let outcome = match start {
            Err(NotStarted::NoStack(error)) => Err(Reason::NoStack { message: error.to_string() }),
            Err(NotStarted::Cancelled) => Err(Reason::Cancelled),
            Ok(()) => panic::catch_unwind(AssertUnwindSafe(body)).map_err(reason_of),
        };
        drop_locals();
        #[cfg(feature = "tracing")]
        crate::spans::clear();
        tell(outcome);
    };
    catch::contained(|| Fiber::with_farewell(&|| tell(Err(Reason::Cancelled)), job));
}
