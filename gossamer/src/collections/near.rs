//! Prefetching elements into the cache, where the fiber's own worker has all of them.

use crate::collections::DistVec;
use crate::lane::context::{self, Context};
use crate::sys::memory::prefetch;
use crate::{Trust, Trustee};

/// Where the elements lie, if the fiber's own worker has all of them: an address that is only used for prefetch
/// hints, and never dereferenced. The elements reach the cache while a batch is gathered. If other workers have some,
/// the processor would have to guess the owner of each, which costs more than it gains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    first: *const u8,
    /// The size of an element.
    bytes: usize,
}

impl Near {
    /// For a vector that is entirely on this worker, if the caller is a fiber.
    pub(super) fn of<T>(vector: &DistVec<T>) -> Option<Self> {
        let [elements] = &vector.parts[..] else { return None };
        let is_here = context::current() == Context::Fiber && elements.trustee() == Trustee::here();
        is_here.then(|| Self { first: first_of(elements), bytes: size_of::<T>() })
    }

    /// Hints that an element will be used soon.
    #[inline(always)]
    pub(super) fn fetch(self, offset: usize) {
        prefetch::write(self.first.wrapping_add(offset.wrapping_mul(self.bytes)));
    }
}

fn first_of<T>(elements: &Trust<crate::collections::Elements<T>>) -> *const u8 {
    elements.apply_here(|elements| elements.as_ptr().cast())
}
