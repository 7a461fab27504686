//! The delegating calls as the macros write them: with the arguments before the closure.
//!
//! The macros put a delegated closure into a `const` block ([`constant`](crate::lane::constant)). rustc
//! checks such a block when its turn comes, whereas it leaves a bare closure until the types of all other
//! arguments are known.
//!
//! Those of `Trust` and `Trustee` stand beside their types, so that rustc's messages name the type and not
//! this module.

use crate::WithoutCaptures;
use crate::lane::error::DelegationError;
use crate::trust::{JoinHandle, JoinMany, Latch, NoRef, Pending, Returned, Trust, Trustee};
use crate::wire::captured::Captured;

#[doc(hidden)]
impl<T: Send + 'static> Trust<Latch<T>> {
    #[inline(always)]
    #[track_caller]
    pub fn __launch_with<C: Captured, U: NoRef, F>(&self, arguments: C, closure: F) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        self.launch_with(closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __launch_with_then<C: Captured, U: NoRef, F, R>(&self, arguments: C, closure: F, then: R)
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        self.launch_with_then(closure, arguments, then);
    }

    #[inline(always)]
    #[track_caller]
    pub fn __try_launch_with<C: Captured, U: NoRef, F>(
        &self,
        arguments: C,
        closure: F,
    ) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        self.try_launch_with(closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __launch_with_async<C: Captured, U: NoRef, F>(&self, arguments: C, closure: F) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        self.launch_with_async(closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __launch_read_with<C: Captured, U: NoRef, F>(&self, arguments: C, closure: F) -> U
    where
        T: Sync,
        F: FnOnce(&T, C) -> U + Send + 'static,
    {
        self.launch_read_with(closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __launch_all_with<C: Captured, U: NoRef, F>(latches: &[Self], arguments: C, closure: F) -> U
    where
        F: FnOnce(&mut [&mut T], C) -> U + Send + 'static,
    {
        Self::launch_all_with(latches, closure, arguments)
    }
}

/// [`spawn_with`](crate::trust::spawn_with).
#[inline(always)]
#[track_caller]
pub fn spawn_with<C: Captured, U: Returned, F>(arguments: C, f: F) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    crate::trust::spawn_with(f, arguments)
}

/// [`spawn_on_with`](crate::trust::spawn_on_with).
#[inline(always)]
#[track_caller]
pub fn spawn_on_with<C: Captured, U: Returned, F>(trustee: Trustee, arguments: C, f: F) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    crate::trust::spawn_on_with(trustee, f, arguments)
}

/// [`spawn_many_with`](crate::trust::spawn_many_with).
#[inline(always)]
#[track_caller]
pub fn spawn_many_with<C: Captured + Clone, U: NoRef, F>(count: usize, arguments: C, f: F) -> JoinMany<U>
where
    F: FnOnce(usize, C) -> U + Send + WithoutCaptures + 'static,
{
    crate::trust::spawn_many_with(count, f, arguments)
}
