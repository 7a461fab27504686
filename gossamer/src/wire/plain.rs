//! [`NoRef`] for numbers and their like, and for rows of them.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; arrays are moved out of bytes")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::wire::shape::{Component, Shape};
use core::cmp::Ordering;
use core::convert::Infallible;
use core::marker::{PhantomData, PhantomPinned};
use core::mem::ManuallyDrop;
use core::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8, NonZeroU16,
    NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
};
use core::ops::RangeFull;
use std::hash::BuildHasherDefault;

/// Implements `NoRef` for types whose values are their bytes.
macro_rules! are_their_bytes {
    ($shape:ident: $($kind:ty),+ $(,)?) => {
        $(
            // SAFETY: (1) plain data: nothing in it is a reference, a handle or has to be dropped. (2) They are its bytes.
            #[diagnostic::do_not_recommend]
            unsafe impl NoRef for $kind {
                const SHAPE: Shape = Shape::$shape;

                #[inline(always)]
                fn encode(self, to: &mut Encoder) {
                    to.dense(self);
                }

                #[inline(always)]
                fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                    from.dense()
                }
            }
        )+
    };
}

pub(super) use are_their_bytes;

are_their_bytes! { Plain:
    (), f32, f64,
    i8, i16, i32, i64, i128, isize,
    u8, u16, u32, u64, u128, usize,
}

// Each has the size of its number, so there is no padding.
are_their_bytes! { Dense:
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize,
    NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
    Ordering, RangeFull, PhantomPinned,
}

// SAFETY: (1) plain data, of one byte.
unsafe impl NoRef for bool {
    const SHAPE: Shape = Shape::Dense;

    #[inline]
    fn encode(self, to: &mut Encoder) {
        to.bytes(&[self.into()]);
    }

    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        match from.bytes(1)? {
            [0] => Ok(false),
            [1] => Ok(true),
            _ => Err(Malformed::instead_of::<Self>()),
        }
    }
}

// SAFETY: (1) plain data, of four bytes.
unsafe impl NoRef for char {
    const SHAPE: Shape = Shape::Dense;

    #[inline]
    fn encode(self, to: &mut Encoder) {
        u32::from(self).encode(to);
    }

    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Self::from_u32(u32::decode(from)?).ok_or_else(Malformed::instead_of::<Self>)
    }
}

// SAFETY: (1) it has no values.
unsafe impl NoRef for Infallible {
    fn encode(self, _to: &mut Encoder) {
        match self {}
    }

    fn decode(_from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Err(Malformed::instead_of::<Self>())
    }
}

// SAFETY: (1) it holds no value at all, so there is nothing in it that could be a reference.
unsafe impl<T: Send + ?Sized + 'static> NoRef for PhantomData<T> {
    const SHAPE: Shape = Shape::Plain;

    fn encode(self, _to: &mut Encoder) {}

    fn decode(_from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self)
    }
}

// SAFETY: (1) it holds no value at all: it makes its hashers from nothing.
unsafe impl<H: 'static> NoRef for BuildHasherDefault<H> {
    const SHAPE: Shape = Shape::Plain;

    fn encode(self, _to: &mut Encoder) {}

    fn decode(_from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Ok(Self::default())
    }
}

// SAFETY: (1) an array holds its elements and nothing else. (2) It reads as many as it wrote.
unsafe impl<T: NoRef, const N: usize> NoRef for [T; N] {
    const SHAPE: Shape = match T::SHAPE {
        Shape::Plain => Shape::Plain,
        _ => Component::of::<T>().row(N),
    };

    #[inline]
    fn encode(self, to: &mut Encoder) {
        if T::SHAPE.is_plain() {
            to.plain(&ManuallyDrop::new(self)[..]);
        } else {
            self.into_iter().for_each(|element| element.encode(to));
        }
    }

    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        if T::SHAPE.is_plain() {
            let bytes = from.bytes(size_of::<Self>())?;
            // SAFETY: any bytes are plain values, and these are as many as the array has.
            return Ok(unsafe { bytes.as_ptr().cast::<Self>().read_unaligned() });
        }
        // `try_from_fn` of the standard library is not stable yet.
        let mut elements = Vec::with_capacity(N);
        for _ in 0..N {
            elements.push(T::decode(from)?);
        }
        elements.try_into().map_err(|_| Malformed::instead_of::<Self>())
    }
}
