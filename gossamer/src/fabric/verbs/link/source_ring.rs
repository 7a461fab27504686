//! Bytes that wait for the device to read them: a ring, in registered memory.

use crate::fabric::verbs::memory::{GatherEntry, MemoryRegion, ProtectionDomain, RegionAccess};
use crate::sys::memory::device_memory::DeviceMemory;
use std::io;
use std::sync::Arc;

/// Where an entry begins, so that copies are aligned.
const ALIGNMENT: usize = 64;

/// A ring of entries, which are given back in their order.
pub(super) struct SourceRing {
    memory: Arc<DeviceMemory>,
    region: Arc<MemoryRegion>,
    /// All bytes taken so far, and all given back, including those left out at the end of the ring.
    taken: u64,
    given_back: u64,
}

impl SourceRing {
    /// A ring of at least this many bytes.
    ///
    /// # Errors
    /// If there is no such memory, or it cannot be pinned.
    pub(super) fn new(domain: &Arc<ProtectionDomain>, bytes: usize) -> io::Result<Self> {
        let memory = DeviceMemory::map(bytes.next_power_of_two())?;
        let region = MemoryRegion::new(domain, memory.clone(), RegionAccess::Source)?;
        Ok(Self { memory, region, taken: 0, given_back: 0 })
    }

    pub(super) fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// The position after the entry that was taken last.
    pub(super) fn position(&self) -> u64 {
        self.taken
    }

    /// Where an entry would begin and end.
    fn next(&self, bytes: usize) -> Option<(u64, u64)> {
        let (length, ring) = (bytes.next_multiple_of(ALIGNMENT) as u64, self.bytes() as u64);
        let left = ring - (self.taken & (ring - 1));
        let start = if length <= left { self.taken } else { self.taken + left };
        (start + length - self.given_back <= ring).then_some((start, start + length))
    }

    /// Whether there is room for an entry.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.next(bytes).is_some()
    }

    /// Copies bytes into an entry, if there is room.
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Option<GatherEntry> {
        let (start, end) = self.next(bytes.len())?;
        let offset = start as usize & (self.bytes() - 1);
        let place = self.memory.at(offset, bytes.len());
        // SAFETY: I3: inside the memory. Nothing else writes it, and no work request under way reads it: the entry that
        // was there was given back (`give_back`).
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
        self.taken = end;
        Some(self.region.entry(offset..offset + bytes.len()))
    }

    /// Gives back all entries before a position: the work requests that read them are done.
    pub(super) fn give_back(&mut self, position: u64) {
        debug_assert!((self.given_back..=self.taken).contains(&position), "entries that were taken");
        self.given_back = position;
    }
}
