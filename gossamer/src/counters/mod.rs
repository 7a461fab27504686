//! What workers and streams count: plain numbers that anybody may read at any time, even while a worker hangs.
//!
//! Invariant: a [`Count`] is written by one thread, which reads it before it writes it; so no read-modify-write of the processor is
//! needed, and none waits for another processor's cache. Other readers may see an older value. No protocol depends on
//! a count, so all orderings are Relaxed, and the model checker's atomics are not used: they would only multiply the
//! interleavings to try.
#![deny(unsafe_code)]

pub(crate) mod address;
pub(crate) mod calls_left;
pub(crate) mod distribution;
pub(crate) mod lane;
pub(crate) mod stopwatch;
pub(crate) mod stream;
pub(crate) mod trace;
pub(crate) mod worker;

use crate::atomic::fixed::AtomicU64;
use std::sync::atomic::Ordering;

/// A number that one thread writes.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline(always)]
    pub(crate) fn add(&self, more: u64) {
        self.set(self.get().wrapping_add(more));
    }

    #[inline(always)]
    pub(crate) fn subtract(&self, less: u64) {
        self.set(self.get().wrapping_sub(less));
    }

    #[inline(always)]
    pub(crate) fn set(&self, value: u64) {
        // Relaxed: no other memory depends on it.
        self.0.store(value, Ordering::Relaxed);
    }

    /// By anybody.
    #[inline(always)]
    pub(crate) fn get(&self) -> u64 {
        // Relaxed: as above.
        self.0.load(Ordering::Relaxed)
    }
}
