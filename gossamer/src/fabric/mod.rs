//! How the memory of a lane is written from the other side.
//!
//! A fabric has one job: a *one-sided write* of a batch into a slot of the peer's lane memory. Slots, batching,
//! responses, callbacks and flow control are written once above it, in `lane`.
//!
//! Contract of every fabric
//! - W1: a peer that reads the header word of a slot and finds the sequence of a write also finds all of that
//!   write's body (the header lands last, or can be told from a torn one).
//! - W2: writes into one slot land in the order they were made. Across slots no order is promised.
//! - W3: a write never blocks and never fails towards its caller; a lost peer is reported by the fabric's watcher.

pub(crate) mod bulk;
#[cfg(all(test, not(loom)))]
mod conformance;
pub(crate) mod handshake;
pub(crate) mod link;
mod memory;
pub(crate) mod shm;
#[cfg(all(test, not(loom)))]
pub(crate) mod sim;
pub(crate) mod socket;
pub(crate) mod tcp;

pub(crate) use memory::{SLOTS, SlotMemory};

/// A way to write into the slots of one peer.
pub(crate) trait Fabric {
    /// Writes `body`, then `header`, into a slot of the peer's memory (W1).
    ///
    /// # Safety
    /// The caller is the slot's only writer, and its reader is done with what was in it before: the lane
    /// protocol's L1 and L2 (`lane/README.md`).
    unsafe fn write(&self, slot: usize, header: u64, body: &[u64]);

    /// Hints that about `words` of a slot will be written next.
    fn prepare(&self, slot: usize, words: usize);
}
