//! Whichever fabric a lane has: the contract is passed on (W1 to W6).

use crate::fabric::tcp::Wire;
use crate::fabric::{Fabric, SlotMemory};
use crate::wire::word::Word;
use std::sync::Arc;

/// The way to the slots of a peer.
pub(crate) enum Link {
    /// Of this process, or of another of this machine.
    Memory(Arc<SlotMemory>),
    /// Of another machine.
    Wire(Wire),
}

impl Fabric for Link {
    #[inline(always)]
    // SAFETY: the trait's contract, which the caller keeps.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        match self {
            // SAFETY: the caller's.
            Self::Memory(memory) => unsafe { memory.write(slot, header, body) },
            // SAFETY: the caller's.
            Self::Wire(wire) => unsafe { wire.write(slot, header, body) },
        }
    }

    #[inline(always)]
    fn prepare(&self, slot: usize, words: usize) {
        match self {
            Self::Memory(memory) => memory.prepare(slot, words),
            Self::Wire(wire) => wire.prepare(slot, words),
        }
    }
}
