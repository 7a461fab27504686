//! A reference to a constant, which one thread sets and others read.

use crate::atomic::Ordering;
use crate::atomic::fixed::AtomicPtr;
use std::ptr::null_mut;

/// A reference, or none.
pub(crate) struct StaticRef<T: Sync + 'static>(AtomicPtr<T>);

impl<T: Sync + 'static> StaticRef<T> {
    pub(crate) const fn none() -> Self {
        Self(AtomicPtr::new(null_mut()))
    }

    #[inline(always)]
    pub(crate) fn set(&self, reference: Option<&'static T>) {
        let address = reference.map_or(null_mut(), |reference| std::ptr::from_ref(reference).cast_mut());
        // Release: pairs with the Acquire in `get`.
        self.0.store(address, Ordering::Release);
    }

    pub(crate) fn get(&self) -> Option<&'static T> {
        // Acquire: pairs with the Release in `set`.
        let address = self.0.load(Ordering::Acquire);
        // SAFETY: `set` made it from a reference that lives for ever, and it is only read.
        unsafe { address.as_ref() }
    }
}
