//! Memory that devices, as well as this process, read and write.
//!
//! Invariant I3: it is mapped, and initialised, for as long as the value lives; a forked child does not have it (I2 of `range.rs`).

use crate::sys::memory::range::{Access, Range};
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;

/// What is mapped is a multiple of this many bytes.
const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

/// Whole pages, huge ones if the kernel has them, all zeros at first.
#[derive(Debug)]
pub(crate) struct DeviceMemory(Range);

impl DeviceMemory {
    /// At least this many bytes.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn map(bytes: usize) -> io::Result<Arc<Self>> {
        let bytes = bytes.max(1).next_multiple_of(PAGE);
        let is_huge = bytes.is_multiple_of(HUGE_PAGE);
        let range = Range::reserve(bytes, if is_huge { HUGE_PAGE } else { PAGE })?;
        // SAFETY: nothing refers to it yet.
        unsafe { range.clear(0, bytes, Access::Write) }?;
        if is_huge {
            range.collapse(0, bytes);
        }
        Ok(Arc::new(Self(range)))
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.0.start()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The address at `offset`, if `bytes` from there are inside.
    ///
    /// # Panics
    /// If they are not.
    pub(crate) fn at(&self, offset: usize, bytes: usize) -> *mut u8 {
        let end = offset.checked_add(bytes);
        assert!(end.is_some_and(|end| end <= self.len()), "{bytes} bytes at {offset} of {}", self.len());
        self.0.at(offset)
    }
}

/// Whether a fork copies pages that a device uses, so that the device goes on writing the parent's pages. Linux does so
/// since 5.12; before, memory that a forked child also has must not be given to a device.
pub(crate) fn forks_copy_pinned_pages() -> bool {
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let mut numbers = release.split(|sign: char| !sign.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= (5, 12),
        _ => false,
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn it_is_zero_at_first_and_large_ones_begin_where_huge_pages_do() {
        for bytes in [1, 5000, HUGE_PAGE] {
            let memory = DeviceMemory::map(bytes).unwrap();
            assert!(memory.len() >= bytes);
            let aligned = if bytes == HUGE_PAGE { HUGE_PAGE } else { PAGE };
            assert!((memory.start().as_ptr() as usize).is_multiple_of(aligned));
            let last = memory.at(memory.len() - 1, 1);
            // SAFETY: I3.
            assert_eq!(unsafe { last.read_volatile() }, 0);
        }
    }
}
