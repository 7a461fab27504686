//! Elements of the fiber's own worker, which are fetched into its cache before they are used, where it has all.

use crate::collections::DistVec;
use crate::lane::context::{self, Context};
use crate::sys::memory::prefetch;
use crate::{Trust, Trustee};

/// Where the elements lie, if the fiber's own worker has all of them: an address that is never followed, only hinted at. While a batch is
/// gathered, they come nearer. Where others have some, the processor would have to guess whose each is, which costs more than it brings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    first: *const u8,
    /// Of an element.
    bytes: usize,
}

impl Near {
    /// Of a vector that is here as a whole, if a fiber asks.
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
