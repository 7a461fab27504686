//! [`NoRef`] for ranges.
#![expect(unsafe_code, reason = "`NoRef` is an unsafe trait; no memory is touched here")]

use crate::wire::NoRef;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::owned::as_another;
use crate::wire::refusal::Malformed;
use crate::wire::shape::{Component, Shape};
use core::any::Any;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::{Bound, Range, RangeFrom, RangeInclusive, RangeTo, RangeToInclusive};

as_another! {
    Range<T>, (T, T), [T: Send] @ Component::all(size_of::<Self>(), &[Component::of::<T>(); 2]),
        |range| (range.start, range.end), |(start, end)| Some(start..end);
    RangeFrom<T>, T, [T: Send] @ Component::all(size_of::<Self>(), &[Component::of::<T>()]),
        |range| range.start, |start| Some(start..);
    RangeTo<T>, T, [T: Send] @ Component::all(size_of::<Self>(), &[Component::of::<T>()]),
        |range| range.end, |end| Some(..end);
    RangeToInclusive<T>, T, [T: Send] @ Component::all(size_of::<Self>(), &[Component::of::<T>()]),
        |range| range.end, |end| Some(..=end);
    // Start, end, and whether it was iterated to its end.
    RangeInclusive<T>, (bool, (T, T)), [T: Send] @ Component::any(1, &[Component::of::<(T, T)>()]),
        |range| (is_exhausted(&range), range.into_inner()),
        |(exhausted, (start, end))| {
            let mut range = start..=end;
            if exhausted {
                exhaust(&mut range);
            }
            Some(range)
        };
    Bound<T>, (bool, Option<T>), [T: Send] @ Component::any(2, &[Component::of::<T>()]),
        |bound| match bound {
            Bound::Included(value) => (true, Some(value)),
            Bound::Excluded(value) => (false, Some(value)),
            Bound::Unbounded => (false, None),
        },
        |bound| Some(match bound {
            (true, Some(value)) => Bound::Included(value),
            (false, Some(value)) => Bound::Excluded(value),
            (_, None) => Bound::Unbounded,
        });
}

/// Does something to a range if it is an iterator.
macro_rules! if_iterator {
    ($range:ident.$downcast:ident => $do:expr) => {
        if_iterator!(
            $range.$downcast => $do;
            i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize char Ipv4Addr Ipv6Addr
        )
    };
    ($range:ident.$downcast:ident => $do:expr; $($step:ty)+) => {
        $(if let Some($range) = $range.$downcast::<RangeInclusive<$step>>() { return $do; })+
    };
}

/// Whether a range is empty though it does not end before its start. The compiler knows the type, and leaves one comparison.
fn is_exhausted<T: 'static>(range: &RangeInclusive<T>) -> bool {
    let range: &dyn Any = range;
    if_iterator!(range.downcast_ref => range.is_empty() && range.start() <= range.end());
    false
}

/// Iterates a range whose start is its end.
fn exhaust<T: 'static>(range: &mut RangeInclusive<T>) {
    let range: &mut dyn Any = range;
    if_iterator!(range.downcast_mut => {
        let _end = range.next();
    });
}
