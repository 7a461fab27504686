//! What kind of code this thread is running, which decides whether it may block.

use crate::lane::operation::Operation;
use std::cell::Cell;

/// What the current code is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// A thread that is no worker.
    Outside,
    /// A worker's own loop, or a callback run by it.
    Loop,
    /// A fiber's body.
    Fiber,
    /// A part of a fiber's body that must not be suspended.
    Steady,
    /// A delegated closure.
    Delegated,
}

thread_local! {
    static CURRENT: Cell<Context> = const { Cell::new(Context::Outside) };
    /// The delegated closure that runs, or ran last: for the last words of a process.
    static OPERATION: Cell<Option<&'static Operation>> = const { Cell::new(None) };
}

/// Notes which delegated closure is about to run.
#[inline(always)]
pub(crate) fn note_operation(operation: &'static Operation) {
    OPERATION.set(Some(operation));
}

/// The delegated closure that runs, if one does.
pub(crate) fn operation() -> Option<&'static Operation> {
    OPERATION.get().filter(|_| current() == Context::Delegated)
}

/// The context of the calling code.
#[inline(always)]
pub(crate) fn current() -> Context {
    CURRENT.get()
}

/// Whether the calling code is the body of a fiber, whether or not it may be suspended.
#[inline(always)]
pub(crate) fn is_fiber() -> bool {
    matches!(current(), Context::Fiber | Context::Steady)
}

/// Restores the context it replaced when dropped.
pub(crate) struct Restore(Context);

/// Declares that what follows, until the guard is dropped, is of another kind.
#[inline(always)]
pub(crate) fn enter(context: Context) -> Restore {
    Restore(CURRENT.replace(context))
}

impl Drop for Restore {
    #[inline(always)]
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}
