//! Atomics and cells shared between threads: `core`'s, or the model checker's under `--cfg loom`.

#[cfg(not(loom))]
pub(crate) use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering, fence};

/// For statics that a signal handler or a forked child reads, and for counts, which no model covers: loom's have no constant constructors.
pub(crate) mod fixed {
    pub(crate) use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
}

/// An `UnsafeCell` whose accesses the model checker can see.
#[derive(Debug, Default)]
pub(crate) struct SharedCell<T: ?Sized>(
    #[cfg(not(loom))] core::cell::UnsafeCell<T>,
    #[cfg(loom)] loom::cell::UnsafeCell<T>,
);

impl<T: ?Sized> SharedCell<T> {
    pub(crate) fn new(value: T) -> Self
    where
        T: Sized,
    {
        #[cfg(not(loom))]
        return Self(core::cell::UnsafeCell::new(value));
        #[cfg(loom)]
        return Self(loom::cell::UnsafeCell::new(value));
    }

    /// Calls `f` with a pointer for reading; dereferencing it is the caller's proof.
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        #[cfg(not(loom))]
        return f(self.0.get());
        #[cfg(loom)]
        return self.0.with(f);
    }

    /// Calls `f` with a pointer for writing; dereferencing it is the caller's proof.
    #[inline(always)]
    pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        #[cfg(not(loom))]
        return f(self.0.get());
        #[cfg(loom)]
        return self.0.with_mut(f);
    }
}
