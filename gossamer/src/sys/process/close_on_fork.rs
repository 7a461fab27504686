//! Descriptors that forked children close at once. While one has them, the other end does not learn that this process is gone.
//!
//! Invariant U9: a place of the list has -1, or a descriptor that is open and whose owner has taken the place; the owner gives it up before it
//! closes the descriptor. In a child nobody owns it: the threads that do are not there, and what else does forgets it (`forked`). Nor does
//! anybody there own what had its number before, if another thread has closed that while the process was copied.

use crate::atomic::Ordering;
use crate::atomic::fixed::{AtomicI32, AtomicPtr};
use crate::sys::process::forked::Process;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::null_mut;
use std::sync::Once;

/// A place of the list, which only grows.
struct Place {
    next: Option<&'static Place>,
    descriptor: AtomicI32,
}

const NONE: i32 = -1;
static FIRST: AtomicPtr<Place> = AtomicPtr::new(null_mut());

fn places() -> impl Iterator<Item = &'static Place> {
    // Acquire: pairs with the Release in `keep_from`, so that places are seen whole.
    let first = FIRST.load(Ordering::Acquire);
    // SAFETY: null, or a place, which is never freed.
    std::iter::successors(unsafe { first.as_ref() }, |place| place.next)
}

extern "C" fn in_the_child() {
    for place in places() {
        // Relaxed: a copy has one thread.
        let descriptor = place.descriptor.swap(NONE, Ordering::Relaxed);
        if descriptor != NONE {
            // SAFETY: U9: it is open and nobody's. The call may be made in a child.
            unsafe { libc::close(descriptor) };
        }
    }
}

/// Keeps a descriptor from forked children until it is dropped, which has to be before the descriptor is closed.
pub(crate) struct KeptFromChildren {
    place: &'static Place,
    process: Process,
}

/// Keeps a descriptor from children that are forked from now on.
pub(crate) fn keep_from(descriptor: BorrowedFd<'_>) -> KeptFromChildren {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the function may run in a child.
        unsafe { libc::pthread_atfork(None, None, Some(in_the_child)) };
    });
    let number = descriptor.as_raw_fd();
    // Relaxed, all: a fork copies what this thread or another has done by then, and the place says all there is to know.
    let taken = |place: &&Place| {
        place.descriptor.compare_exchange(NONE, number, Ordering::Relaxed, Ordering::Relaxed).is_ok()
    };
    let place = places().find(taken).unwrap_or_else(|| {
        let place = Box::leak(Box::new(Place { next: None, descriptor: AtomicI32::new(number) }));
        loop {
            let first = FIRST.load(Ordering::Acquire);
            // SAFETY: as in `places`.
            place.next = unsafe { first.as_ref() };
            // Release: pairs with the Acquire in `places`.
            if FIRST.compare_exchange(first, place, Ordering::Release, Ordering::Relaxed).is_ok() {
                break place;
            }
        }
    });
    KeptFromChildren { place, process: Process::this() }
}

impl Drop for KeptFromChildren {
    fn drop(&mut self) {
        if self.process.is_this() {
            // Relaxed: as above.
            self.place.descriptor.store(NONE, Ordering::Relaxed);
        }
    }
}
