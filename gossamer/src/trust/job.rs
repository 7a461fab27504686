//! The job of a fiber: a body, and whoever gets what it comes to.

use crate::lane::catch;
use crate::lane::error::{DelegationError, Origin, Reason};
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::stack::StackError;
use crate::trust::fiber_local::drop_locals;
use crate::trust::join::reason_of;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};

/// Runs the body of a fiber and sends its outcome.
pub(super) fn run_job<U>(
    body: impl FnOnce() -> U,
    start: Result<(), StackError>,
    origin: Origin,
    to: impl FnOnce(Result<U, DelegationError>),
) {
    let to = Cell::new(Some(to));
    let tell = |outcome: Result<U, Reason>| {
        if let Some(to) = to.take() {
            to(outcome.map_err(|reason| origin.error(reason)));
        }
    };
    // A fiber must not unwind: not by the destructors of a body that cannot start, nor of a result nobody receives.
    let job = || {
        let outcome = match start {
            Err(error) => Err(Reason::NoStack { message: error.to_string() }),
            Ok(()) => panic::catch_unwind(AssertUnwindSafe(body)).map_err(reason_of),
        };
        drop_locals();
        tell(outcome);
    };
    catch::contained(|| Fiber::with_farewell(&|| tell(Err(Reason::Cancelled)), job));
}
