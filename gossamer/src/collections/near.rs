//! Elements of the fiber's own worker, which are fetched into its cache before they are used.

use crate::collections::DistVec;
use crate::lane::context::{self, Context};
use crate::sys::memory::prefetch;
use crate::{Trust, Trustee};

/// Where the elements of the fiber's own worker lie: an address that is never followed, only hinted at. While indices are gathered for
/// other workers, which takes as long as memory does, those of its own come nearer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    /// That of the own elements; none has this number, if there are none.
    part: usize,
    first: *const u8,
    bytes: usize,
}

impl Near {
    /// Of a vector, if a fiber asks; what is no fiber has no elements near.
    pub(super) fn of<T>(vector: &DistVec<T>) -> Self {
        let none = Self { part: usize::MAX, first: std::ptr::null(), bytes: 0 };
        if context::current() != Context::Fiber {
            return none;
        }
        let here = Trustee::here();
        let near = |(part, elements): (usize, &Trust<_>)| Self {
            part,
            first: first_of(elements),
            bytes: size_of::<T>(),
        };
        let own = vector.parts.iter().enumerate().find(|(_, elements)| elements.trustee() == here);
        own.map_or(none, near)
    }

    /// Hints that an element will be used soon.
    #[inline(always)]
    pub(super) fn fetch(self, part: usize, offset: usize) {
        if part == self.part {
            prefetch::write(self.first.wrapping_add(offset.wrapping_mul(self.bytes)));
        }
    }
}

fn first_of<T>(elements: &Trust<crate::collections::Elements<T>>) -> *const u8 {
    elements.apply_here(|elements| elements.as_ptr().cast())
}
