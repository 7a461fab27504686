//! Page faults reported to a thread of ours by userfaultfd, including those in system calls.

use crate::sys::memory::range::Range;
use crate::sys::memory::segment::checked;
use rustix::event::{PollFd, PollFlags, poll};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

// <linux/userfaultfd.h>
const API: u64 = 0xaa;
/// Faults are reported with their exact address (Linux 5.18), not that of the page.
const EXACT_ADDRESS: u64 = 1 << 11;
const NEW: libc::Ioctl = 0xaa00;
const SET_UP: libc::Ioctl = 0xc018_aa3f;
const REGISTER: libc::Ioctl = 0xc020_aa00;
const WAKE: libc::Ioctl = 0x8010_aa02;
const MISSING: u64 = 1;
const EVENT_PAGEFAULT: u8 = 0x12;
/// Bytes of a message, and the offset of the address in it.
const MESSAGE: usize = 32;
const ADDRESS: usize = 16;

#[repr(C)]
struct SetUp {
    api: u64,
    features: u64,
    ioctls: u64,
}

#[repr(C)]
struct Register {
    start: u64,
    bytes: u64,
    mode: u64,
    ioctls: u64,
}

#[repr(C)]
struct Wake {
    start: u64,
    bytes: u64,
}

/// One userfaultfd.
#[derive(Debug)]
pub(crate) struct Userfault(File);

impl Userfault {
    /// Opens one that also gets faults in system calls.
    ///
    /// # Errors
    /// If this process may not, or the kernel has none.
    pub(crate) fn open() -> io::Result<Self> {
        Self::with(EXACT_ADDRESS).or_else(|_| Self::with(0))
    }

    fn with(features: u64) -> io::Result<Self> {
        let descriptor = Self::from_device().or_else(|_| Self::from_system_call())?;
        // SAFETY: a new descriptor, which only we have.
        let file = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
        let mut set_up = SetUp { api: API, features, ioctls: 0 };
        // SAFETY: the structure is the one that the call reads and writes.
        checked(unsafe { libc::ioctl(file.as_raw_fd(), SET_UP, &raw mut set_up) })?;
        Ok(Self(file))
    }

    fn from_device() -> io::Result<libc::c_int> {
        let device = File::options().read(true).write(true).open("/dev/userfaultfd")?;
        // SAFETY: the call takes flags.
        checked(unsafe { libc::ioctl(device.as_raw_fd(), NEW, libc::O_CLOEXEC | libc::O_NONBLOCK) })
    }

    fn from_system_call() -> io::Result<libc::c_int> {
        // SAFETY: the call takes flags.
        let made = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | libc::O_NONBLOCK) };
        checked(made as libc::c_int)
    }

    /// From now on it gets faults on missing pages in a range that is not mapped from a file.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn watch(&self, range: &Range) -> io::Result<()> {
        let start = range.start().as_ptr() as u64;
        let mut register = Register { start, bytes: range.len() as u64, mode: MISSING, ioctls: 0 };
        // SAFETY: the structure is the one that the call reads and writes; the range is ours.
        checked(unsafe { libc::ioctl(self.0.as_raw_fd(), REGISTER, &raw mut register) }).map(drop)
    }

    /// The address of the next fault; `None` once there is something to read from `stop`.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn next(&self, stop: BorrowedFd<'_>) -> io::Result<Option<usize>> {
        loop {
            let mut wanted =
                [PollFd::new(&self.0, PollFlags::IN), PollFd::from_borrowed_fd(stop, PollFlags::IN)];
            match poll(&mut wanted, None) {
                Err(rustix::io::Errno::INTR) => continue,
                outcome => outcome?,
            };
            if !wanted[1].revents().is_empty() {
                return Ok(None);
            }
            let mut message = [0; MESSAGE];
            match (&self.0).read(&mut message) {
                Ok(MESSAGE) if message[0] == EVENT_PAGEFAULT => {
                    let address = message[ADDRESS..].first_chunk().copied().unwrap_or_default();
                    return Ok(Some(usize::from_ne_bytes(address)));
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Wakes the threads that wait for something in this part: they try again.
    pub(crate) fn wake(&self, start: *const u8, bytes: usize) {
        let mut wake = Wake { start: start as u64, bytes: bytes as u64 };
        // SAFETY: the structure is the one that the call reads. It fails only for addresses that are not pages.
        unsafe { libc::ioctl(self.0.as_raw_fd(), WAKE, &raw mut wake) };
    }
}

impl AsFd for Userfault {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
