//! [`NoRef`]: the types that hold no reference or pointer, and so may travel to a trustee.
//!
//! # Invariant
//! 1. A value of a `NoRef` type is self-contained: everything it reaches, it owns, and nothing in it names a place
//!    that only its maker knows (an address, a file descriptor, a thread).
//!
//! # What is left out, and why
//! An implementation is a promise, so a type that is not listed here is a type that does not travel:
//!
//! - `&T`, `&mut T`, raw pointers, `fn` pointers, `dyn Trait`: the address, or the table of methods, belongs to one process.
//!   `&'static T` as well: a static of another process is another static.
//! - `Cow<'_, B>`, `Cow<'static, B>` too: it may hold the reference. Send the owned form (`into_owned`).
//! - `Rc`, `Arc` and their `Weak`: the counts are shared memory. A `Trust` is the counted handle that travels.
//! - Atomics, `Mutex`, `RwLock`, `Condvar`, `OnceLock`, channels and guards: tools for sharing memory. A copy of one would
//!   share nothing, which is never what its user meant.
//! - `Instant` (the clock of one machine: send a `Duration` or a `SystemTime`), `ThreadId`, files, sockets, processes.
//! - `MaybeUninit`, `UnsafeCell`, iterators such as `vec::IntoIter`: what they hold cannot be seen from their type.
//! - `io::Error`, `Box<dyn Error>`: send the `ErrorKind`, or the text.

use core::alloc::LayoutError;
use core::cell::{Cell, OnceCell, RefCell};
use core::cmp::{Ordering, Reverse};
use core::convert::Infallible;
use core::ffi::CStr;
use core::hash::BuildHasherDefault;
use core::marker::{PhantomData, PhantomPinned};
use core::mem::ManuallyDrop;
use core::net::{AddrParseError, IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use core::num::{
    FpCategory, IntErrorKind, NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize,
    NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize, ParseFloatError, ParseIntError,
    Saturating, TryFromIntError, Wrapping,
};
use core::ops::{Bound, ControlFlow, Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};
use core::str::{ParseBoolError, Utf8Error};
use core::task::Poll;
use core::time::Duration;
use std::collections::hash_map::RandomState;
use std::collections::{
    BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, TryReserveError, VecDeque,
};
use std::ffi::{CString, FromBytesWithNulError, NulError, OsStr, OsString};
use std::path::{Path, PathBuf};
use std::string::{FromUtf8Error, FromUtf16Error};
use std::time::{SystemTime, SystemTimeError};

/// A type that holds no reference or pointer: its values may travel to a trustee, wherever that is.
///
/// Captures of delegated closures, their results, and values entrusted elsewhere must be `NoRef`. It holds for plain data, for
/// the standard library's owned containers of `NoRef` types, and for `Trust`. For a type of your own, derive it:
///
/// ```
/// #[derive(gossamer::NoRef)]
/// struct Order { item: String, amount: u64 }
/// ```
///
/// # Safety
/// A value must be self-contained: it owns whatever it reaches, and holds no reference, no raw or `fn` pointer, no `dyn` type, and no
/// handle that means something only in the process that made it. The derive proves that from the fields; write the
/// implementation by hand only for what the derive cannot see.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot travel to a trustee: it is not known to be free of references (`NoRef`)",
    label = "this value would have to travel",
    note = "references (`&'static` too), pointers, `Rc`, `Arc`, guards and `dyn` types never travel: send owned data, such as a clone, or a `Trust`",
    note = "a type of your own travels with `#[derive(gossamer::NoRef)]`, a type parameter with the bound `gossamer::NoRef`"
)]
pub unsafe trait NoRef: Send + 'static {}

/// Implements `NoRef` for types that own all they hold.
macro_rules! own_all_they_hold {
    ($($kind:ty),+ $(,)?) => {
        // SAFETY: (1) plain data, or an owned buffer of it: no field is a reference or a handle.
        $(#[diagnostic::do_not_recommend] unsafe impl NoRef for $kind {})+
    };
}

/// Implements `NoRef` for containers: they own their elements, so they are as free of references as those are.
macro_rules! as_free_as_their_elements {
    ($($container:ident<$($element:ident),+>),+ $(,)?) => {
        // SAFETY: (1) the container owns its elements and its buffer, and every element is `NoRef`.
        $(unsafe impl<$($element: NoRef),+> NoRef for $container<$($element),+> {})+
    };
}

/// Implements `NoRef` for tuples of the given elements and of every shorter row of them.
macro_rules! tuples {
    () => {};
    ($first:ident $($rest:ident)*) => {
        // SAFETY: (1) a tuple holds its elements and nothing else, and each of them is `NoRef`.
        unsafe impl<$first: NoRef, $($rest: NoRef),*> NoRef for ($first, $($rest,)*) {}
        tuples! { $($rest)* }
    };
}

own_all_they_hold! {
    (), bool, char, str, f32, f64,
    i8, i16, i32, i64, i128, isize,
    u8, u16, u32, u64, u128, usize,
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize,
    NonZeroU8, NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
    String, OsStr, OsString, Path, PathBuf, CStr, CString,
    IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6,
    Duration, SystemTime, Ordering, Infallible, FpCategory, RangeFull, PhantomPinned, RandomState,
}

// Errors that are plain data, so that a delegated closure can return them.
own_all_they_hold! {
    AddrParseError, core::fmt::Error, FromBytesWithNulError, FromUtf8Error, FromUtf16Error, IntErrorKind, LayoutError, NulError,
    ParseBoolError, core::char::ParseCharError, ParseFloatError, ParseIntError, std::io::ErrorKind, SystemTimeError,
    TryFromIntError, TryReserveError, Utf8Error,
}

as_free_as_their_elements! {
    Option<T>, Result<T, E>, Poll<T>, Bound<T>, ControlFlow<B, C>,
    Vec<T>, VecDeque<T>, LinkedList<T>, BinaryHeap<T>, BTreeMap<K, V>, BTreeSet<T>,
    HashMap<K, V, S>, HashSet<T, S>,
    Cell<T>, RefCell<T>, OnceCell<T>, ManuallyDrop<T>, Reverse<T>, Wrapping<T>, Saturating<T>,
    Range<T>, RangeFrom<T>, RangeInclusive<T>, RangeTo<T>, RangeToInclusive<T>,
}

tuples! { A B C D E F G H I J K L }

// SAFETY: (1) a box owns its value; `str`, `Path`, `OsStr`, `CStr` and slices are the unsized ones that qualify.
unsafe impl<T: NoRef + ?Sized> NoRef for Box<T> {}

// SAFETY: (1) a slice holds its elements and nothing else.
unsafe impl<T: NoRef> NoRef for [T] {}

// SAFETY: (1) an array holds its elements and nothing else.
unsafe impl<T: NoRef, const N: usize> NoRef for [T; N] {}

// SAFETY: (1) it holds no value at all, so there is nothing in it that could be a reference.
unsafe impl<T: Send + ?Sized + 'static> NoRef for PhantomData<T> {}

// SAFETY: (1) it holds no value at all: it makes its hashers from nothing.
unsafe impl<H: 'static> NoRef for BuildHasherDefault<H> {}
