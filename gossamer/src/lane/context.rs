//! What kind of code this thread is running, which decides whether it may block, and which delegated closure it runs.

use crate::lane::operation::Operation;
use crate::structures::static_ref::StaticRef;
use std::cell::Cell;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// The kind of the current code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Context {
    /// A thread that is not a worker.
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
    /// The delegated closure that runs for another worker: for other threads to see.
    static SERVED: StaticRef<Operation> = const { StaticRef::none() };
}

/// The closure that a thread runs for another worker, visible to other threads. The pointer leads to the thread-local
/// of a thread that is inside `show_while`. It is set, used and taken back under the lock, so the thread exists
/// meanwhile.
pub(crate) struct ServedView(Mutex<Option<NonNull<StaticRef<Operation>>>>);

// SAFETY: the pointer is used under the lock only, and what it leads to is atomic.
unsafe impl Sync for ServedView {}
// SAFETY: as above.
unsafe impl Send for ServedView {}

impl ServedView {
    /// Shows no thread.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn set(&self, served: Option<NonNull<StaticRef<Operation>>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = served;
    }

    /// Shows the calling thread during a call.
    pub(crate) fn show_while<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Detach<'a>(&'a ServedView);
        impl Drop for Detach<'_> {
            fn drop(&mut self) {
                self.0.set(None);
            }
        }
        self.set(Some(SERVED.with(|served| NonNull::from(served))));
        let _detach = Detach(self);
        f()
    }

    /// The delegated closure that the thread runs for another worker, if it runs one.
    pub(crate) fn running(&self) -> Option<&'static Operation> {
        let served = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the lock is held, so the thread is still inside `show_while`.
        served.and_then(|served| unsafe { served.as_ref() }.get())
    }
}

/// Notes which delegated closure is about to run.
#[inline(always)]
pub(crate) fn note_operation(operation: &'static Operation) {
    OPERATION.set(Some(operation));
}

/// Notes which delegated closure is about to run for another worker.
#[inline(always)]
pub(crate) fn note_served(operation: &'static Operation) {
    note_operation(operation);
    SERVED.with(|served| served.set(Some(operation)));
}

/// All requests of other workers have been served.
#[inline(always)]
pub(crate) fn note_all_served() {
    SERVED.with(|served| served.set(None));
}

/// The delegated closure that runs, if one does.
pub(crate) fn operation() -> Option<&'static Operation> {
    OPERATION.get().filter(|_| current() == Context::Delegated)
}

/// The delegated closure that runs, or ran last.
pub(crate) fn last_operation() -> Option<&'static Operation> {
    OPERATION.get()
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

/// Declares that the code until the guard is dropped is of another kind.
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
