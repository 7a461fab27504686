//! Places in the source of the program that are sent to its other processes.

use crate::sys::image::address::base;
use std::panic::Location;

/// A place in the source of the program, known by where its description lies in the image, which is the same in every
/// process of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortableLocation(&'static Location<'static>);

impl PortableLocation {
    pub(crate) fn of(location: &'static Location<'static>) -> Self {
        Self(location)
    }

    pub(crate) fn location(self) -> &'static Location<'static> {
        self.0
    }

    /// The distance of its description from the start of the image, the same in every process of the program.
    pub(crate) fn offset(self) -> i64 {
        (std::ptr::from_ref(self.0) as isize).wrapping_sub(base() as isize) as i64
    }

    /// The place with this offset.
    ///
    /// # Safety
    /// `offset` returned it, in a process of this program.
    pub(crate) unsafe fn at_offset(offset: i64) -> Self {
        // SAFETY: the caller's promise: the description of a place is there, in the image of every process of the
        // program.
        Self(unsafe { &*base().wrapping_offset(offset as isize).cast() })
    }
}
