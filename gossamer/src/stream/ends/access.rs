//! Shared by sender and receiver: seeking, and blocks as values.

use crate::stream::Error;
use crate::wire::NoRef;
use crate::wire::shape::Shape;
use std::io::{self, SeekFrom};

/// The target of a seek.
pub(crate) fn target(to: SeekFrom, position: u64, end: Option<u64>) -> io::Result<u64> {
    let target = match to {
        SeekFrom::Start(offset) => Some(offset),
        SeekFrom::Current(by) => position.checked_add_signed(by),
        SeekFrom::End(by) => match end {
            Some(end) => end.checked_add_signed(by),
            None => {
                return Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "the end of the stream is not known yet",
                ));
            }
        },
    };
    target.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a seek in front of the stream"))
}

/// Whether a type is plain bytes, and at least one.
pub(crate) const fn is_plain<T: NoRef>() -> bool {
    matches!(T::SHAPE, Shape::Plain) && size_of::<T>() > 0
}

pub(crate) fn not_aligned<T>() -> Error {
    let (size, name) = (size_of::<T>(), std::any::type_name::<T>());
    Error::Refused(format!(
        "a block does not consist of values of {name}, of {size} bytes, from where it stands"
    ))
}
