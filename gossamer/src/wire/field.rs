//! The fields of a type that derives [`NoRef`]: each is named once in the expansion, so that a field that does not
//! travel gives one error.
//!
//! Invariant D1: `encode` and `decode` of a `Field` are those of the one type it was made for, and whoever calls them names that
//! type: the derive takes entry, type and field from one list, and names the type at each use, so that a field whose
//! type another macro has changed does not compile.
#![expect(unsafe_code, reason = "a field is moved out of a value that is not dropped after")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::wire::shape::{Component, Shape};
use std::fmt;
use std::mem::MaybeUninit;

/// How one field travels.
#[derive(Clone, Copy)]
pub struct Field {
    component: Component,
    encode: unsafe fn(*const (), &mut Encoder),
    decode: unsafe fn(*mut (), &mut Decoder<'_>) -> Result<(), Malformed>,
}

impl Field {
    /// A field of this type.
    pub const fn of<T: NoRef>() -> Self {
        Self { component: Component::of::<T>(), encode: encode::<T>, decode: decode::<T> }
    }

    /// The shape of a struct of `N` fields and `size` bytes.
    pub const fn struct_shape<const N: usize>(size: usize, fields: &[Self]) -> Shape {
        Component::all(size, &Self::components::<N>(fields, 0))
    }

    /// The shape of one variant of an enum: its `N` fields are those from `first` on.
    pub const fn variant_shape<const N: usize>(first: usize, fields: &[Self]) -> Shape {
        // Without a size, since the layout is unknown.
        Component::all(usize::MAX, &Self::components::<N>(fields, first))
    }

    /// The shape of an enum whose variants have these.
    pub const fn enum_shape<const N: usize>(variants: [Shape; N]) -> Shape {
        let mut components = [Component::of::<()>(); N];
        let mut index = 0;
        while index < N {
            components[index] = Component::new(variants[index]);
            index += 1;
        }
        Component::any(size_of::<u64>(), &components)
    }

    const fn components<const N: usize>(fields: &[Self], first: usize) -> [Component; N] {
        let mut components = [Component::of::<()>(); N];
        let mut index = 0;
        while index < N {
            components[index] = fields[first + index].component;
            index += 1;
        }
        components
    }

    /// Encodes a field.
    ///
    /// # Safety
    /// `field` points at a field of the type this was made for, which is moved from there, with or without alignment.
    #[inline]
    pub unsafe fn encode<T>(&self, field: *const T, to: &mut Encoder) {
        // SAFETY: guaranteed by the caller.
        unsafe { (self.encode)(field.cast(), to) }
    }

    /// Decodes a field.
    ///
    /// # Safety
    /// `T` is the type this was made for.
    ///
    /// # Errors
    /// If the bytes are not those of such a field.
    #[inline]
    pub unsafe fn decode<T>(&self, from: &mut Decoder<'_>) -> Result<T, Malformed> {
        let mut value = MaybeUninit::<T>::uninit();
        // SAFETY: guaranteed by the caller; the place is a `T`'s.
        unsafe { (self.decode)(value.as_mut_ptr().cast(), from) }?;
        // SAFETY: `decode` wrote it, since there was no error.
        Ok(unsafe { value.assume_init() })
    }
}

impl fmt::Debug for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Field").field("component", &self.component).finish_non_exhaustive()
    }
}

/// # Safety
/// `field` points at a `T`, which is moved from there.
unsafe fn encode<T: NoRef>(field: *const (), to: &mut Encoder) {
    // SAFETY: guaranteed by the caller; a field of a packed type need not be aligned.
    unsafe { field.cast::<T>().read_unaligned() }.encode(to);
}

/// # Safety
/// `place` is writable as a `T`.
unsafe fn decode<T: NoRef>(place: *mut (), from: &mut Decoder<'_>) -> Result<(), Malformed> {
    let value = T::decode(from)?;
    // SAFETY: guaranteed by the caller.
    unsafe { place.cast::<T>().write(value) };
    Ok(())
}
