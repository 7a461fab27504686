//! The generated methods of a trust.

use crate::trust::Trust;
use std::ops::Deref;

/// What `#[gossamer::delegate]` on an `impl` block generates for a type: the methods of its trusts.
///
/// # Safety
/// `Methods` is `#[repr(transparent)]` over `Trust<Self>`.
pub unsafe trait Delegate: Sized + 'static {
    /// The type with the generated methods.
    type Methods;
}

impl<T: Delegate> Deref for Trust<T> {
    type Target = T::Methods;

    fn deref(&self) -> &T::Methods {
        const { assert!(size_of::<T::Methods>() == size_of::<Self>()) };
        // SAFETY: the implementation vouches that `Methods` has the layout of `Trust<T>` and no other invariant.
        unsafe { &*(&raw const *self).cast() }
    }
}
