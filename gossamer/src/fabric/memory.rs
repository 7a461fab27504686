//! Lane memory of this process, and the fabric that writes it by plain stores.
//!
//! Invariants
//! - M1: the body of a slot is written by one thread at a time, and only between the reader's last read of it
//!   and the Release store of the next header in `announce` (`Fabric::write`'s contract).
//! - M2: the body is read only after an Acquire load of `header` has returned the sequence awaited; that load
//!   pairs with the Release store in `announce`.

use crate::fabric::Fabric;
use crate::sys::atomic::{AtomicU64, Ordering, SharedCell};
use crate::sys::prefetch;
use crate::wire::batch::BODY_WORDS;
use std::sync::Arc;

/// Slots of each direction of a lane: the batches it can have in flight.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 16 };

#[repr(C, align(128))]
struct Slot {
    header: AtomicU64,
    body: SharedCell<[u64; BODY_WORDS]>,
}

/// The slots of one direction of one lane, in the memory of the worker that reads them.
pub(crate) struct SlotMemory {
    slots: Box<[Slot]>,
}

// SAFETY: M1 and M2: bodies are handed between two threads by the header word.
unsafe impl Sync for SlotMemory {}
// SAFETY: plain words and an atomic.
unsafe impl Send for SlotMemory {}

impl SlotMemory {
    pub(crate) fn new() -> Arc<Self> {
        // One by one: all of them at once would not fit the stack of the fiber that connects a lane.
        let slot = |_| Slot { header: AtomicU64::new(0), body: SharedCell::new([0; BODY_WORDS]) };
        Arc::new(Self { slots: (0..SLOTS).map(slot).collect() })
    }

    /// The header word of a slot, as last landed (M2).
    #[inline]
    pub(crate) fn header(&self, slot: usize) -> u64 {
        // Acquire: pairs with the Release store in `announce`.
        self.slots[slot].header.load(Ordering::Acquire)
    }

    /// Calls `read` with the address of a slot's body. To read from it takes M2, and that the slot is not given back
    /// to its writer before.
    #[inline]
    pub(crate) fn read<R>(&self, slot: usize, read: impl FnOnce(*const u64) -> R) -> R {
        self.slots[slot].body.with(|body| read(body.cast()))
    }

    /// Lands words of a slot's body, from the `offset`th on.
    ///
    /// # Safety
    /// M1.
    #[inline(always)]
    pub(super) unsafe fn land(&self, slot: usize, offset: usize, words: &[u64]) {
        debug_assert!(offset + words.len() <= BODY_WORDS);
        self.slots[slot].body.with_mut(|body| {
            let target = body.cast::<u64>().wrapping_add(offset);
            // SAFETY: M1: nobody else reads or writes the body; it has room (asserted above, and batches are built in
            // arrays of BODY_WORDS).
            unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), target, words.len()) };
        });
    }

    /// Lands the header of a slot, behind its body.
    #[inline(always)]
    pub(super) fn announce(&self, slot: usize, header: u64) {
        // Release: pairs with the Acquire load in `header` (W1).
        self.slots[slot].header.store(header, Ordering::Release);
    }

    /// Hints that `words` of a slot's body will be read.
    #[inline]
    pub(crate) fn prefetch(&self, slot: usize, words: usize) {
        self.slots[slot].body.with(|body| {
            for line in (0..words).step_by(8) {
                prefetch::read(body.cast::<u64>().wrapping_add(line));
            }
        });
    }
}

impl Fabric for Arc<SlotMemory> {
    #[inline]
    unsafe fn write(&self, slot: usize, header: u64, body: &[u64]) {
        // SAFETY: M1 is the caller's.
        unsafe { self.land(slot, 0, body) };
        self.announce(slot, header);
    }

    #[inline]
    fn prepare(&self, slot: usize, words: usize) {
        let start: *const u64 = (&raw const self.slots[slot]).cast();
        for line in (0..=words).step_by(8) {
            prefetch::write(start.wrapping_add(line));
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::fabric::conformance::{Subject, conformance};

    struct Local(Arc<SlotMemory>);

    impl Subject for Local {
        type Fabric = Arc<SlotMemory>;

        fn new(_seed: u64) -> Self {
            Self(SlotMemory::new())
        }

        fn fabric(&self) -> &Arc<SlotMemory> {
            &self.0
        }

        fn memory(&self) -> &SlotMemory {
            &self.0
        }

        fn step(&self) -> bool {
            false
        }
    }

    conformance!(Local);
}
