//! Descriptors that forked children close at once. As long as a child has one, the other end does not learn that this
//! process is gone.
//!
//! Invariant U9: an entry of the list has -1, or a descriptor that is open and whose owner has taken the entry; the
//! owner gives it up before it closes the descriptor. In a child nothing owns it: the threads that do are not there,
//! and any other owner forgets it (`forked`). Nor does anything there own a descriptor that had its number before, if
//! another thread closed that one while the process was copied.

use crate::atomic::Ordering;
use crate::atomic::fixed::{AtomicI32, AtomicPtr};
use crate::sys::process::forked::Process;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;
use std::sync::Once;

/// An entry of the list, which only grows.
struct ListEntry {
    next: Option<&'static ListEntry>,
    descriptor: AtomicI32,
}

const NONE: i32 = -1;
static FIRST: AtomicPtr<ListEntry> = AtomicPtr::new(null_mut());

fn entries() -> impl Iterator<Item = &'static ListEntry> {
    // Acquire: pairs with the Release in `close_on_fork`, so that entries are seen whole.
    let first = FIRST.load(Ordering::Acquire);
    // SAFETY: null, or an entry, which is never freed.
    std::iter::successors(unsafe { first.as_ref() }, |entry| entry.next)
}

extern "C" fn in_the_child() {
    for entry in entries() {
        // Relaxed: a copy has one thread.
        let descriptor = entry.descriptor.swap(NONE, Ordering::Relaxed);
        if descriptor != NONE {
            // SAFETY: U9: it is open and nothing owns it. The call may be made in a child.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Makes forked children close a descriptor, until this is dropped, which must happen before the descriptor is closed
/// here.
pub(crate) struct CloseOnFork {
    entry: &'static ListEntry,
    process: Process,
}

/// Makes children that are forked from now on close a descriptor.
pub(crate) fn close_on_fork(descriptor: BorrowedFd<'_>) -> CloseOnFork {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function may run in a child.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    });
    let number = descriptor.as_raw_fd();
    // Relaxed, all: a fork copies what this thread or another has done by then, and the entry alone says everything.
    let taken = |entry: &&ListEntry| {
        entry.descriptor.compare_exchange(NONE, number, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    let entry = entries().find(taken).unwrap_or_else(|| {
        let entry = Box::leak(Box::new(ListEntry { next: None, descriptor: AtomicI32::new(number) }));
        loop {
            let first = FIRST.load(Ordering::Acquire);
            // SAFETY: as in `entries`.
            entry.next = unsafe { first.as_ref() };
            // Release: pairs with the Acquire in `entries`.
            if FIRST.compare_exchange(first, entry, Ordering::Release, Ordering::Relaxed).is_ok() {
                break entry;
            }
        }
    });
    CloseOnFork { entry, process: Process::this() }
}

impl Drop for CloseOnFork {
    fn drop(&mut self) {
        if self.process.is_this() {
            // Relaxed: as above.
            self.entry.descriptor.store(NONE, Ordering::Relaxed);
        }
    }
}
