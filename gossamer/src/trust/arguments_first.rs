//! The delegating calls as the macros write them: with the arguments before the closure.
//!
//! The macros put a delegated closure into a `const` block ([`constant`](crate::lane::constant)). rustc looks at such a block in
//! its turn, and not, as at a bare closure, when it knows the types of all other arguments.
//!
//! Those of `Trust` and `Trustee` stand beside these: so rustc's messages name them by the type and not by this module.

use crate::trust::{JoinHandle, JoinMany, Latch, NoRef, Trust, Trustee};

#[doc(hidden)]
impl<T: Send + 'static> Trust<Latch<T>> {
    #[inline(always)]
    #[track_caller]
    pub fn __launch_with<C: NoRef, U: NoRef, F>(&self, arguments: C, closure: F) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        self.launch_with(closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __launch_with_then<C: NoRef, U: NoRef, F, R>(&self, arguments: C, closure: F, then: R)
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        self.launch_with_then(closure, arguments, then);
    }
}

/// [`spawn_with`](crate::trust::spawn_with).
#[inline(always)]
#[track_caller]
pub fn spawn_with<C: NoRef, U: NoRef, F>(arguments: C, f: F) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    crate::trust::spawn_with(f, arguments)
}

/// [`spawn_on_with`](crate::trust::spawn_on_with).
#[inline(always)]
#[track_caller]
pub fn spawn_on_with<C: NoRef, U: NoRef, F>(trustee: Trustee, arguments: C, f: F) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    crate::trust::spawn_on_with(trustee, f, arguments)
}

/// [`spawn_many_with`](crate::trust::spawn_many_with).
#[inline(always)]
#[track_caller]
pub fn spawn_many_with<C: NoRef + Clone, U: NoRef, F>(count: usize, arguments: C, f: F) -> JoinMany<U>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
{
    crate::trust::spawn_many_with(count, f, arguments)
}
