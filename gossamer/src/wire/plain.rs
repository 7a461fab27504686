//! [`NoRef`] for values that are their bytes, and for rows of them.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; arrays are moved out of bytes")]

use crate::wire::NoRef;
use crate::wire::value::{Decoder, Encoder, Malformed, Shape};
use core::alloc::LayoutError;
use core::cmp::Ordering;
use core::convert::Infallible;
use core::marker::{PhantomData, PhantomPinned};
use core::mem::ManuallyDrop;
use core::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use core::num::{
    FpCategory, IntErrorKind, NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize,
    NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, ParseFloatError, ParseIntError,
    TryFromIntError,
};
use core::ops::RangeFull;
use core::str::{ParseBoolError, Utf8Error};
use core::time::Duration;
use std::collections::TryReserveError;
use std::ffi::FromBytesWithNulError;
use std::hash::BuildHasherDefault;
use std::string::FromUtf16Error;
use std::time::{SystemTime, SystemTimeError};

/// Implements `NoRef` for types whose values are their bytes.
macro_rules! are_their_bytes {
    ($shape:ident: $($kind:ty),+ $(,)?) => {
        $(
            // SAFETY: (1) plain data: nothing in it is a reference, a handle or has to be dropped.
            #[diagnostic::do_not_recommend]
            unsafe impl NoRef for $kind {
                const SHAPE: Shape = Shape::$shape;

                #[inline]
                fn encode(self, to: &mut Encoder) {
                    to.flat(&[self]);
                }

                #[inline]
                fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
                    from.flat()
                }
            }
        )+
    };
}

are_their_bytes! { Plain:
    (), f32, f64,
    i8, i16, i32, i64, i128, isize,
    u8, u16, u32, u64, u128, usize,
}

are_their_bytes! { Flat:
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize,
    NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6,
    Duration, SystemTime, Ordering, FpCategory, RangeFull, PhantomPinned,
}

// SAFETY: (1) plain data.
unsafe impl NoRef for bool {
    const SHAPE: Shape = Shape::Flat;

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

// SAFETY: (1) plain data.
unsafe impl NoRef for char {
    const SHAPE: Shape = Shape::Flat;

    #[inline]
    fn encode(self, to: &mut Encoder) {
        u32::from(self).encode(to);
    }

    #[inline]
    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        Self::from_u32(u32::decode(from)?).ok_or_else(Malformed::instead_of::<Self>)
    }
}

// Errors that are plain data, so that a delegated closure can return them.
are_their_bytes! { Flat:
    AddrParseError, core::fmt::Error, FromBytesWithNulError, FromUtf16Error, IntErrorKind, LayoutError, ParseBoolError,
    core::char::ParseCharError, ParseFloatError, ParseIntError, std::io::ErrorKind, SystemTimeError, TryFromIntError,
    TryReserveError, Utf8Error,
}

// SAFETY: (1) it has no values.
unsafe impl NoRef for Infallible {}

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

// SAFETY: (1) an array holds its elements and nothing else.
unsafe impl<T: NoRef, const N: usize> NoRef for [T; N] {
    const SHAPE: Shape = T::SHAPE;

    fn encode(self, to: &mut Encoder) {
        if matches!(T::SHAPE, Shape::Plain) {
            to.plain(&ManuallyDrop::new(self)[..]);
        } else {
            self.into_iter().for_each(|element| element.encode(to));
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        if matches!(T::SHAPE, Shape::Plain) {
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
