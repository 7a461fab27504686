//! How a [`Trust`] is made of a handle, cloned and shown.

use crate::trust::Trust;
use crate::trust::call::Target;
use crate::trust::handle::Handle;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

impl<T: 'static> Trust<T> {
    /// A trust of a property that was just stored, with type `T`, at the place that `handle` names.
    pub(crate) fn new(handle: Handle) -> Self {
        Self::of_handle(Arc::new(handle))
    }

    #[inline(always)]
    pub(crate) fn target(&self) -> Target<'_, T> {
        Target { shared: &self.handle.shared, number: self.number, property: self.property, of: PhantomData }
    }

    pub(super) fn handle(&self) -> &Arc<Handle> {
        &self.handle
    }

    /// A trust of the property that a handle names, which is of this type.
    pub(super) fn of_handle(handle: Arc<Handle>) -> Self {
        let (number, property) = (handle.shared.base + handle.trustee, handle.property);
        Self { handle, number, property, of: PhantomData }
    }

    /// The index of the property at its trustee.
    pub(super) fn property(&self) -> u32 {
        self.property
    }
}

impl<T> Clone for Trust<T> {
    #[inline]
    fn clone(&self) -> Self {
        Self {
            handle: Arc::clone(&self.handle),
            number: self.number,
            property: self.property,
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Trust<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = std::any::type_name::<T>();
        write!(f, "Trust<{name}>(property {} of worker {})", self.property, self.handle.trustee)
    }
}
