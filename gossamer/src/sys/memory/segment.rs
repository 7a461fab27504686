//! Memory that several nodes of one machine map.
//!
//! Invariant E1: a segment keeps its size for as long as it exists, since its file is sealed: no access to it goes past
//! the end of its file. Its pages are allocated when they are first used, since most lanes never are. If the machine
//! has none left, the kernel ends a process, and with it the application.

use memmap2::{MmapOptions, MmapRaw};
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// What may never happen to a segment.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

/// A mapping of a file that exists only in memory and has no name in any file system: it goes with the last process
/// that has it.
#[derive(Debug)]
pub(crate) struct Segment {
    file: File,
    map: MmapRaw,
}

impl Segment {
    /// A new segment, all zeros.
    ///
    /// # Errors
    /// If there is not enough memory, or no descriptor left.
    pub(crate) fn create(bytes: usize) -> io::Result<Self> {
        Self::map(sealed_file(c"gossamer-lanes", bytes)?, bytes)
    }

    /// A segment that another process made, from a descriptor that was handed over.
    ///
    /// # Errors
    /// If it has another size than `bytes`, or could change it under us; if it cannot be mapped.
    pub(crate) fn attach(descriptor: OwnedFd, bytes: usize) -> io::Result<Self> {
        Self::map(checked_file(descriptor, bytes)?, bytes)
    }

    fn map(file: File, bytes: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(bytes).map_raw(&file)?;
        Ok(Self { file, map })
    }

    /// The address it is mapped at here, the start of a page.
    pub(crate) fn start(&self) -> NonNull<u8> {
        // A mapping is never at address zero.
        NonNull::new(self.map.as_mut_ptr()).unwrap_or(NonNull::dangling())
    }

    pub(crate) fn len(&self) -> usize {
        self.map.len()
    }
}

impl AsFd for Segment {
    /// What `attach` needs.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// A new file that exists only in memory, all zeros, and keeps its size.
///
/// # Errors
/// If there is not enough memory, or no descriptor left.
pub(crate) fn sealed_file(name: &CStr, bytes: usize) -> io::Result<File> {
    let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
    // SAFETY: the name is a string that ends in zero.
    let descriptor = checked(unsafe { libc::memfd_create(name.as_ptr(), flags) })?;
    // SAFETY: a new descriptor, which only we have.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
    file.set_len(bytes as u64)?;
    // SAFETY: the descriptor is open; the call takes one number.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS) })?;
    Ok(file)
}

/// The file of shared memory that was handed over.
///
/// # Errors
/// If it has another size than `bytes`, or could change it under us.
pub(crate) fn checked_file(descriptor: OwnedFd, bytes: usize) -> io::Result<File> {
    let file = File::from(descriptor);
    // SAFETY: the descriptor is open.
    let seals = checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GET_SEALS) })?;
    if seals & SEALS != SEALS {
        return Err(io::Error::other("the shared memory is not sealed: its peer could shrink it"));
    }
    let found = file.metadata()?.len();
    if found != bytes as u64 {
        return Err(io::Error::other(format!("the shared memory has {found} bytes instead of {bytes}")));
    }
    Ok(file)
}

pub(crate) fn checked(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Another mapping of a segment, as another process has it.
    fn again(segment: &Segment, bytes: usize) -> io::Result<Segment> {
        Segment::attach(segment.as_fd().try_clone_to_owned()?, bytes)
    }

    #[test]
    fn two_mappings_of_a_segment_are_one_memory() {
        let first = Segment::create(8192).unwrap();
        let second = again(&first, 8192).unwrap();
        assert_ne!(first.start(), second.start());
        for offset in [0, 4095, 8191] {
            let at = |segment: &Segment| segment.start().as_ptr().wrapping_byte_add(offset);
            // SAFETY: inside the mapping, which nothing else uses.
            unsafe { at(&first).write_volatile(7) };
            // SAFETY: as above.
            assert_eq!(unsafe { at(&second).read_volatile() }, 7);
        }
    }

    #[test]
    fn a_segment_keeps_its_size() {
        let segment = Segment::create(8192).unwrap();
        assert!(segment.file.set_len(4096).is_err());
        assert!(segment.file.set_len(1 << 20).is_err());
        assert_eq!(segment.len(), 8192);
    }

    #[test]
    fn memory_that_may_change_its_size_or_has_another_is_refused() {
        let segment = Segment::create(8192).unwrap();
        let error = again(&segment, 4096).unwrap_err();
        assert!(error.to_string().contains("8192 bytes instead of 4096"), "{error}");
        // SAFETY: the name is a string that ends in zero.
        let open =
            unsafe { libc::memfd_create(c"open".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        // SAFETY: a new descriptor, which only we have.
        let error = Segment::attach(unsafe { OwnedFd::from_raw_fd(open) }, 0).unwrap_err();
        assert!(error.to_string().contains("not sealed"), "{error}");
        assert!(Segment::attach(File::open("/dev/null").unwrap().into(), 0).is_err());
    }
}
