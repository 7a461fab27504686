//! A reserved range of addresses, in which memory is mapped and unmapped.
//!
//! Invariants
//! - I1: a range belongs to one `Range` from its creation to its drop; nothing else maps there. So `MAP_FIXED` inside
//!   it replaces only mappings of ours.
//! - I2: a forked child has none of what is mapped there (`MADV_DONTFORK`): it cannot write what its parent hands over.
//!   It may have something else at these addresses, so it leaves them alone.

use crate::sys::memory::segment::checked;
use crate::sys::process::forked::Process;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::{NonNull, null_mut};

/// What may be done with mapped memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    None,
    Read,
    Write,
}

impl Access {
    fn protection(self) -> libc::c_int {
        match self {
            Self::None => libc::PROT_NONE,
            Self::Read => libc::PROT_READ,
            Self::Write => libc::PROT_READ | libc::PROT_WRITE,
        }
    }
}

/// A part of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilePart<'a> {
    pub(crate) file: BorrowedFd<'a>,
    pub(crate) offset: usize,
}

/// Addresses with nothing mapped at first: they take no memory.
#[derive(Debug)]
pub(crate) struct Range {
    start: NonNull<u8>,
    bytes: usize,
    process: Process,
}

// SAFETY: only addresses; the users decide how to share what is mapped there.
unsafe impl Send for Range {}
// SAFETY: as above.
unsafe impl Sync for Range {}

const HUGE_PAGE: usize = 2 << 20;
/// How often to try to get huge pages.
const COLLAPSES: usize = 8;
const RESERVED: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

impl Range {
    /// Reserves `bytes`, which are whole pages, at a multiple of `alignment`, a power of two.
    ///
    /// # Errors
    /// If there are not enough addresses.
    pub(crate) fn reserve(bytes: usize, alignment: usize) -> io::Result<Self> {
        let more = bytes.checked_add(alignment).ok_or(io::ErrorKind::OutOfMemory)?;
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let whole = unsafe { libc::mmap(null_mut(), more, libc::PROT_NONE, RESERVED, -1, 0) };
        if whole == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let before = whole.cast::<u8>().align_offset(alignment);
        let start = whole.wrapping_byte_add(before);
        if before > 0 {
            // SAFETY: the part before the range belongs to the new mapping.
            unsafe { libc::munmap(whole, before) };
        }
        // SAFETY: so does the part after it.
        unsafe { libc::munmap(start.wrapping_byte_add(bytes), alignment - before) };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes, process: Process::this() })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes
    }

    /// The address at `offset`.
    pub(crate) fn at(&self, offset: usize) -> *mut u8 {
        self.start.as_ptr().wrapping_add(offset)
    }

    /// Whether it exists here: it does not in a forked child.
    pub(crate) fn is_here(&self) -> bool {
        self.process.is_this()
    }

    /// The offset of an address inside it.
    pub(crate) fn offset_of(&self, address: usize) -> Option<usize> {
        address.checked_sub(self.start.as_ptr() as usize).filter(|offset| *offset < self.bytes)
    }

    /// Maps a part of a file.
    ///
    /// # Errors
    /// If the process has too many mappings, or it is not inside the range.
    ///
    /// # Safety
    /// Nothing refers to what was mapped there, unless it is the same part.
    pub(crate) unsafe fn map(
        &self,
        offset: usize,
        bytes: usize,
        part: FilePart<'_>,
        access: Access,
    ) -> io::Result<()> {
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        // SAFETY: guaranteed by the caller.
        unsafe { self.replace(offset, bytes, Some(part), access, flags) }
    }

    /// Maps what is mapped in a part of another range, with the same access and advice: one call instead of two.
    ///
    /// # Errors
    /// As for `map`, and if the part is not a single mapping of a file.
    ///
    /// # Safety
    /// Like `map`.
    pub(crate) unsafe fn map_as(
        &self,
        offset: usize,
        bytes: usize,
        template: &Self,
        at: usize,
    ) -> io::Result<()> {
        self.check(offset, bytes)?;
        template.check(at, bytes)?;
        let (from, to) = (template.at(at).cast(), self.at(offset).cast::<libc::c_void>());
        let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        // SAFETY: I1: both are ours, and the old length is zero: a shared mapping stays and is mapped again. The caller
        // vouches that nothing refers to what was there.
        let mapped = unsafe { libc::mremap(from, 0, bytes, flags, to) };
        if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Maps the first bytes of a file that has none: any access to them that `access` allows gets a SIGBUS.
    ///
    /// # Errors
    /// Like `map`.
    ///
    /// # Safety
    /// Like `map`.
    pub(crate) unsafe fn map_failure(
        &self,
        offset: usize,
        bytes: usize,
        file: BorrowedFd<'_>,
        access: Access,
    ) -> io::Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.map(offset, bytes, FilePart { file, offset: 0 }, access) }
    }

    /// Maps zeros, or nothing.
    ///
    /// # Errors
    /// Like `map`.
    ///
    /// # Safety
    /// Like `map`.
    pub(crate) unsafe fn clear(&self, offset: usize, bytes: usize, access: Access) -> io::Result<()> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.replace(offset, bytes, None, access, RESERVED) }
    }

    /// Whether it is a part of the range.
    fn check(&self, offset: usize, bytes: usize) -> io::Result<()> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes && bytes > 0 => Ok(()),
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    unsafe fn replace(
        &self,
        offset: usize,
        bytes: usize,
        part: Option<FilePart<'_>>,
        access: Access,
        flags: libc::c_int,
    ) -> io::Result<()> {
        self.check(offset, bytes)?;
        let descriptor = part.map_or(-1, |part| part.file.as_raw_fd());
        let at = part.map_or(0, |part| part.offset as libc::off_t);
        let (start, flags) = (self.at(offset).cast(), flags | libc::MAP_FIXED);
        // SAFETY: I1: the range is ours; the caller vouches that nothing refers to what was there.
        let mapped = unsafe { libc::mmap(start, bytes, access.protection(), flags, descriptor, at) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // I2. An inaccessible mapping needs no advice, which saves a call for each block that passes by.
        if access == Access::None { Ok(()) } else { self.advise(offset, bytes, libc::MADV_DONTFORK) }
    }

    /// Puts what is mapped into huge pages, where the kernel can. A huge page is made from a page that is there
    /// already, so the first page of each is touched; touching all of them first would take twenty times as long.
    pub(crate) fn collapse(&self, offset: usize, bytes: usize) {
        let mut firsts = (offset..offset + bytes).step_by(HUGE_PAGE);
        let touched = firsts.try_for_each(|first| self.advise(first, 1, libc::MADV_POPULATE_WRITE));
        let mut collapsed = touched.and_then(|()| self.advise(offset, bytes, libc::MADV_HUGEPAGE));
        for _ in 0..COLLAPSES {
            collapsed = collapsed.and_then(|()| self.advise(offset, bytes, libc::MADV_COLLAPSE));
            match &collapsed {
                // Some page was in use for a moment.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => collapsed = Ok(()),
                // It only makes things faster.
                _ => return,
            }
        }
    }

    fn advise(&self, offset: usize, bytes: usize, advice: libc::c_int) -> io::Result<()> {
        // SAFETY: advice on a part of the range that changes no contents.
        checked(unsafe { libc::madvise(self.at(offset).cast(), bytes, advice) }).map(drop)
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if !self.is_here() {
            return;
        }
        // SAFETY: I1: the range is ours, and anything that refers to what is mapped there borrows from this.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::sys::memory::segment::sealed_file;
    use std::os::fd::AsFd;

    const PAGE: usize = 4096;

    #[test]
    fn a_part_of_a_file_is_seen_where_it_is_mapped() {
        let file = sealed_file(c"test", 4 * PAGE).unwrap();
        let range = Range::reserve(1 << 40, 1 << 21).unwrap();
        assert_eq!(range.start().as_ptr() as usize % (1 << 21), 0);
        for (place, offset) in [(7 * PAGE, PAGE), (1 << 39, PAGE), (0, 3 * PAGE)] {
            // SAFETY: nothing refers to it.
            unsafe { range.map(place, PAGE, FilePart { file: file.as_fd(), offset }, Access::Write) }
                .unwrap();
        }
        // SAFETY: mapped above.
        unsafe { range.at(7 * PAGE + 5).write(9) };
        // SAFETY: mapped above.
        assert_eq!(unsafe { range.at((1 << 39) + 5).read() }, 9);
        // SAFETY: mapped above.
        assert_eq!(unsafe { range.at(5).read() }, 0);
        let out_of_it = (1 << 40) - PAGE;
        // SAFETY: nothing refers to it.
        assert!(unsafe { range.clear(out_of_it, 2 * PAGE, Access::None) }.is_err());
    }
}
