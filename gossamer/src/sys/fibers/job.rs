//! What a fiber runs, and what a report says about it.

use crate::structures::inline_closure::InlineClosure;
use crate::sys::fibers::stack::StackError;
use std::fmt;
use std::panic::Location;

/// What a fiber runs. It is told if it cannot start; it must not unwind.
pub(crate) struct Job {
    pub(crate) start: InlineClosure<Result<(), NotStarted>>,
    pub(crate) spawned_at: &'static Location<'static>,
    pub(crate) id: JobId,
}

/// Names a job for cancelling it; 0 names none.
pub(crate) type JobId = u64;

/// Why a job cannot start.
#[derive(Debug)]
pub(crate) enum NotStarted {
    /// There is no stack for it.
    NoStack(StackError),
    /// It was cancelled.
    Cancelled,
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoStack(error) => error.fmt(f),
            Self::Cancelled => f.write_str("the fiber was cancelled before it began"),
        }
    }
}

/// What a report says about a fiber.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Description {
    pub(crate) worker: u32,
    pub(crate) serial: u64,
    pub(crate) spawned_at: &'static Location<'static>,
}
