//! What kind of code this thread is running, which decides whether it may block; and which delegated closure.

use crate::atomic::Ordering;
use crate::atomic::fixed::AtomicU8;
use crate::lane::operation::Operation;
use crate::structures::static_ref::StaticRef;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

/// What the current code is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
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

impl Context {
    /// The context that `self as u8` gave the number of.
    #[inline(always)]
    fn numbered(number: u8) -> Self {
        match number {
            0 => Self::Outside,
            1 => Self::Loop,
            2 => Self::Fiber,
            3 => Self::Steady,
            _ => Self::Delegated,
        }
    }
}

/// Written by its own thread only: a plain store. Others may read it.
struct ThreadContext {
    context: AtomicU8,
    /// The delegated closure that runs, or ran last.
    operation: StaticRef<Operation>,
}

thread_local! {
    static CURRENT: ThreadContext =
        const { ThreadContext { context: AtomicU8::new(Context::Outside as u8), operation: StaticRef::none() } };
}

impl ThreadContext {
    /// The delegated closure that runs, if one does.
    fn running(&self) -> Option<&'static Operation> {
        // Relaxed: a moment like any other.
        let context = Context::numbered(self.context.load(Ordering::Relaxed));
        self.operation.get().filter(|_| context == Context::Delegated)
    }
}

/// What a thread runs, for other threads to see. The pointer is to the thread-local of a thread that is inside of `show_while`. It is set,
/// used and taken back under the lock, so the thread is there meanwhile.
pub(crate) struct ContextView(Mutex<Option<NonNull<ThreadContext>>>);

// SAFETY: the pointer is used under the lock only, and what it leads to is atomic.
unsafe impl Sync for ContextView {}
// SAFETY: as above.
unsafe impl Send for ContextView {}

impl ContextView {
    /// Of no thread.
    pub(crate) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    fn set(&self, thread: Option<NonNull<ThreadContext>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = thread;
    }

    /// Shows the calling thread for the length of a call.
    pub(crate) fn show_while<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Detach<'a>(&'a ContextView);
        impl Drop for Detach<'_> {
            fn drop(&mut self) {
                self.0.set(None);
            }
        }
        self.set(Some(CURRENT.with(|thread| NonNull::from(thread))));
        let _detach = Detach(self);
        f()
    }

    /// The delegated closure that the thread runs, if it runs one.
    pub(crate) fn running(&self) -> Option<&'static Operation> {
        let thread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the lock is held, so the thread is still inside of `show_while`.
        thread.and_then(|thread| unsafe { thread.as_ref() }.running())
    }
}

/// Notes which delegated closure is about to run.
#[inline(always)]
pub(crate) fn note_operation(operation: &'static Operation) {
    CURRENT.with(|thread| thread.operation.set(Some(operation)));
}

/// The delegated closure that runs, if one does.
pub(crate) fn operation() -> Option<&'static Operation> {
    CURRENT.with(ThreadContext::running)
}

/// The context of the calling code.
#[inline(always)]
pub(crate) fn current() -> Context {
    CURRENT.with(|thread| Context::numbered(thread.context.load(Ordering::Relaxed)))
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
    let before = current();
    set(context);
    Restore(before)
}

impl Drop for Restore {
    #[inline(always)]
    fn drop(&mut self) {
        set(self.0);
    }
}

#[inline(always)]
fn set(context: Context) {
    CURRENT.with(|thread| thread.context.store(context as u8, Ordering::Relaxed));
}
