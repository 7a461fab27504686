//! [`Near`]: the elements that the fiber's own worker has, which need no request.

use crate::collections::{DistVec, Elements};
use crate::lane::context::{self, Context};
use crate::sys::memory::prefetch;
use crate::{Trust, Trustee};
use std::hint::select_unpredictable;

/// The part of a vector that the fiber's own worker has, and where its elements lie: an address that is only used for
/// prefetch hints, and never dereferenced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near {
    part: usize,
    first: *const u8,
    /// The size of an element.
    bytes: usize,
}

impl Near {
    /// The first part that is on this worker, if the caller is a fiber.
    pub(super) fn of<T>(vector: &DistVec<T>) -> Option<Self> {
        let part = own_part(vector)?;
        Some(Self { part, first: first_of(&vector.parts[part]), bytes: size_of::<T>() })
    }

    pub(super) fn part(self) -> usize {
        self.part
    }

    /// Hints that an element will be used soon, if it is on this worker. Otherwise the first element takes the hint:
    /// the processor cannot predict which worker has an element, so a branch would cost more than the hint gains. (The
    /// compiler made one of a bit mask.)
    #[inline(always)]
    pub(super) fn fetch(self, part: usize, offset: usize) {
        let offset = select_unpredictable(part == self.part, offset, 0);
        prefetch::write(self.first.wrapping_add(offset.wrapping_mul(self.bytes)));
    }
}

/// Whether two vectors are one.
pub(super) fn are_same<T: 'static, U: 'static>(one: &DistVec<T>, other: &DistVec<U>) -> bool {
    one.parts.iter().zip(other.parts.iter()).any(|(one, other)| one.is_same(other))
}

/// The first part that is on this worker, if the caller is a fiber.
pub(super) fn own_part<T>(vector: &DistVec<T>) -> Option<usize> {
    if context::current() != Context::Fiber {
        return None;
    }
    let here = Trustee::here();
    vector.parts.iter().position(|part| part.trustee() == here)
}

/// A part that is on a worker, always the same one. Over all workers it has the worker's number, and is not searched
/// for.
pub(super) fn some_part<T>(vector: &DistVec<T>, worker: Trustee) -> Option<usize> {
    let (parts, usual) = (&vector.parts, worker.index());
    let is_there = |part: &Trust<Elements<T>>| part.trustee() == worker;
    if parts.get(usual).is_some_and(is_there) { Some(usual) } else { parts.iter().position(is_there) }
}

fn first_of<T>(elements: &Trust<Elements<T>>) -> *const u8 {
    elements.apply_here(|elements| elements.as_ptr().cast())
}
