//! The bare ring: the least that delegation between two threads can cost, with nothing a user would get.
//!
//! Fixed requests of 32 bytes, one client and one trustee per ring, no captures, no panics, no counting, no
//! sleep, never torn down. Our own prototype, kept as the lower limit to compare with.
//!
//! Invariants the SAFETY comments cite:
//! 1. A ring has one client thread and one trustee thread. Request slots from `completed` to the client's tail
//!    belong to the client until `published` (Release) passes them, then to the trustee until `completed`
//!    (Release) passes them; response slots go with the request slots of the same number.
//! 2. The objects of a worker are touched by that worker alone, and live as long as the process.

mod run;

pub use run::{callbacks, fibers};

use crate::machine::Padded;
use std::cell::{Cell, UnsafeCell};
use std::sync::atomic::{AtomicU64, Ordering};

const SLOTS: usize = 128;
const MASK: u64 = SLOTS as u64 - 1;

type Object = Padded<u64>;

#[derive(Clone, Copy)]
#[repr(C)]
struct Request {
    function: unsafe fn(*mut Object, u64) -> u64,
    object: *mut Object,
    argument: u64,
    spare: u64,
}

/// What a worker delegates. Only the worker that holds `object` may call it.
unsafe fn add(object: *mut Object, amount: u64) -> u64 {
    // SAFETY: the caller is the object's worker (2).
    let value = unsafe { &mut (*object).0 };
    let before = *value;
    *value += amount;
    before
}

#[repr(C, align(128))]
struct Ring {
    requests: [UnsafeCell<Request>; SLOTS],
    responses: Padded<[UnsafeCell<u64>; SLOTS]>,
    published: Padded<AtomicU64>,
    completed: Padded<AtomicU64>,
}

// SAFETY: slots change hands by Release stores and Acquire loads of `published` and `completed` (1).
unsafe impl Sync for Ring {}
// SAFETY: as above; the pointers in requests are only followed by the worker they belong to (2).
unsafe impl Send for Ring {}

impl Ring {
    fn new() -> &'static Ring {
        let request = Request { function: add, object: std::ptr::null_mut(), argument: 0, spare: 0 };
        Box::leak(Box::new(Ring {
            requests: std::array::from_fn(|_| UnsafeCell::new(request)),
            responses: Padded(std::array::from_fn(|_| UnsafeCell::new(0))),
            published: Padded::default(),
            completed: Padded::default(),
        }))
    }

    #[inline(always)]
    fn request(&self, number: u64) -> *mut Request {
        // SAFETY: the mask keeps the index below the length.
        unsafe { self.requests.get_unchecked((number & MASK) as usize) }.get()
    }

    #[inline(always)]
    fn response(&self, number: u64) -> *mut u64 {
        // SAFETY: the mask keeps the index below the length.
        unsafe { self.responses.0.get_unchecked((number & MASK) as usize) }.get()
    }
}

#[inline(always)]
fn prefetch_for_reading<T>(place: *mut T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is harmless.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(place.cast())
    };
}

#[inline(always)]
fn prefetch_for_writing<T>(place: *mut T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address is harmless.
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags))
    };
}

/// Calls `act` for every `step`th number from `first` to before `end`.
#[inline(always)]
fn every(step: u64, first: u64, end: u64, act: impl Fn(u64)) {
    let mut number = first;
    while number < end {
        act(number);
        number += step;
    }
}

struct Trustee {
    ring: &'static Ring,
    head: Cell<u64>,
}

impl Trustee {
    #[inline]
    fn serve(&self) {
        let (head, published) = (self.head.get(), self.ring.published.0.load(Ordering::Acquire));
        if published == head {
            return;
        }
        every(2, head, published, |number| prefetch_for_reading(self.ring.request(number)));
        every(8, head, published, |number| prefetch_for_writing(self.ring.response(number)));
        for number in head..published {
            // SAFETY: a published request is the trustee's (1).
            let Request { function, object, argument, .. } = unsafe { *self.ring.request(number) };
            // SAFETY: requests to this trustee name its own objects (2).
            let value = unsafe { function(object, argument) };
            // SAFETY: the response slot goes with the request (1).
            unsafe { *self.ring.response(number) = value };
        }
        self.ring.completed.0.store(published, Ordering::Release);
        self.head.set(published);
    }
}

struct Client {
    ring: &'static Ring,
    tail: Cell<u64>,
    published: Cell<u64>,
    seen: Cell<u64>,
}

impl Client {
    fn new(ring: &'static Ring) -> Self {
        Client { ring, tail: Cell::new(0), published: Cell::new(0), seen: Cell::new(0) }
    }

    #[inline(always)]
    fn in_flight(&self) -> u64 {
        self.tail.get() - self.seen.get()
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        self.in_flight() >= SLOTS as u64
    }

    /// Writes a request and says its number. The ring must not be full.
    #[inline(always)]
    fn push(&self, object: *mut Object) -> u64 {
        let number = self.tail.get();
        // SAFETY: not full, so this slot is the client's (1).
        unsafe { *self.ring.request(number) = Request { function: add, object, argument: 1, spare: 0 } };
        self.tail.set(number + 1);
        number
    }

    /// The response to a request that `take` has passed.
    #[inline(always)]
    fn response(&self, number: u64) -> u64 {
        // SAFETY: completed, and not pushed over yet: the client's (1).
        unsafe { *self.ring.response(number) }
    }

    /// Calls `each` with the number of each request completed since the last time.
    #[inline(always)]
    fn take(&self, mut each: impl FnMut(u64)) {
        let (seen, completed) = (self.seen.get(), self.ring.completed.0.load(Ordering::Acquire));
        let tail = self.tail.get();
        every(8, seen, completed, |number| prefetch_for_reading(self.ring.response(number)));
        every(2, tail, tail + (completed - seen), |number| prefetch_for_writing(self.ring.request(number)));
        for number in seen..completed {
            self.seen.set(number + 1);
            each(number);
        }
    }

    #[inline(always)]
    fn publish(&self) {
        if self.tail.get() != self.published.get() {
            self.ring.published.0.store(self.tail.get(), Ordering::Release);
            self.published.set(self.tail.get());
        }
    }
}
