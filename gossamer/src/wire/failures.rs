//! [`NoRef`] for errors of the standard library that are plain data, so that a delegated closure can return them.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::owned::as_another;
use crate::wire::plain::are_their_bytes;
use crate::wire::refusal::Malformed;
use crate::wire::shape::Shape;
use core::alloc::LayoutError;
use core::array::TryFromSliceError;
use core::char::{CharTryFromError, ParseCharError};
use core::net::AddrParseError;
use core::num::{FpCategory, IntErrorKind, ParseFloatError, ParseIntError, TryFromIntError};
use core::str::{ParseBoolError, Utf8Error};
use std::collections::TryReserveError;
use std::env::VarError;
use std::ffi::{FromBytesWithNulError, NulError, OsString};
use std::string::{FromUtf8Error, FromUtf16Error};

/// Implements `NoRef` for types of one byte or none, which have no room for padding.
macro_rules! are_a_byte {
    ($($kind:ty),+ $(,)?) => {
        are_their_bytes! { Dense: $($kind),+ }
        const _: () = assert!($(size_of::<$kind>() <= 1)&&+);
    };
}

are_a_byte! {
    AddrParseError, CharTryFromError, core::fmt::Error, FpCategory, FromUtf16Error, IntErrorKind, LayoutError, ParseBoolError,
    ParseCharError, ParseFloatError, ParseIntError, std::io::ErrorKind, TryFromIntError, TryFromSliceError,
}

as_another! {
    FromUtf8Error, Vec<u8>, [], FromUtf8Error::into_bytes, |bytes| String::from_utf8(bytes).err();
    VarError, Option<OsString>, [] @ <Option<OsString>>::SHAPE,
        |error| match error {
            VarError::NotPresent => None,
            VarError::NotUnicode(value) => Some(value),
        },
        |value| Some(value.map_or(VarError::NotPresent, VarError::NotUnicode));
    NulError, Vec<u8>, [], NulError::into_vec, |bytes| std::ffi::CString::new(bytes).err();
    FromBytesWithNulError, Option<usize>, [] @ Option::<usize>::SHAPE,
        |error| match error {
            FromBytesWithNulError::InteriorNul { position } => Some(position),
            FromBytesWithNulError::NotNulTerminated => None,
        },
        |position| Some(position.map_or(FromBytesWithNulError::NotNulTerminated, |position| {
            FromBytesWithNulError::InteriorNul { position }
        }));
    // Where the text is valid up to, and how long what is wrong there is.
    Utf8Error, (usize, Option<u8>), [] @ <(usize, Option<u8>)>::SHAPE,
        |error| (error.valid_up_to(), error.error_len().map(|length| length as u8)),
        |(valid, wrong)| utf8_error(valid, wrong);
    // Whether it was the allocator, whose error loses the size that was asked for.
    TryReserveError, bool, [] @ bool::SHAPE, |error| Some(error) != overflow(), |allocator| {
        if allocator { Vec::<u8>::new().try_reserve_exact(isize::MAX as usize).err() } else { overflow() }
    };
}

/// The error of a text like one that was wrong at this place.
fn utf8_error(valid: usize, wrong: Option<u8>) -> Option<Utf8Error> {
    let rest: &[u8] = match wrong {
        None => &[0xc2],
        Some(1) => &[0xff],
        Some(2) => &[0xe1, 0x80, 0],
        Some(3) => &[0xf1, 0x80, 0x80, 0],
        Some(_) => return None,
    };
    let mut text = Vec::new();
    // Bytes that lie must not end the process.
    text.try_reserve_exact(valid.checked_add(rest.len())?).ok()?;
    text.resize(valid, b' ');
    text.extend_from_slice(rest);
    std::str::from_utf8(&text).err()
}

fn overflow() -> Option<TryReserveError> {
    Vec::<u8>::new().try_reserve_exact(usize::MAX).err()
}
