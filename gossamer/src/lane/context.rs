//! What kind of code this thread is running, which decides whether it may block.

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
    /// A delegated closure.
    Delegated,
}

thread_local! {
    static CURRENT: Cell<Context> = const { Cell::new(Context::Outside) };
}

/// The context of the calling code.
#[inline(always)]
pub(crate) fn current() -> Context {
    CURRENT.get()
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
