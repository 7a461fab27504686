//! Fragments on their way: each is in a place of a pool, the same place at both sides. The sending node chooses the
//! place, and the reading node says when it has taken what was there.
//!
//! Invariant V9: from `take` until its bit is given back, a place belongs, at both sides, to the worker that took it:
//! only this worker copies into the sending side, and only its write lands in the reading side. The reader gives the
//! bit back after its last look, so nobody writes what it reads.

use crate::fabric::FRAGMENT_BYTES;
use crate::fabric::verbs::memory::{
    GatherEntry, MemoryRegion, ProtectionDomain, RegionAccess, RemoteAddress,
};
use crate::structures::place_pool::PlacePool;
use crate::sys::memory::device_memory::DeviceMemory;
use std::io;
use std::sync::Arc;

/// Places of a pool.
pub(super) const PLACES: u32 = 4;
/// All of them, a bit for each.
const ALL: u64 = (1 << PLACES) - 1;

/// The reading side.
pub(super) struct FragmentPool {
    memory: Arc<DeviceMemory>,
    region: Arc<MemoryRegion>,
}

impl FragmentPool {
    /// # Errors
    /// If there is no such memory, or it cannot be pinned.
    pub(super) fn new(domain: &Arc<ProtectionDomain>) -> io::Result<Self> {
        let memory = DeviceMemory::map(PLACES as usize * FRAGMENT_BYTES)?;
        let region = MemoryRegion::new(domain, memory.clone(), RegionAccess::RemoteWrite)?;
        Ok(Self { memory, region })
    }

    pub(super) fn remote(&self) -> RemoteAddress {
        self.region.remote(0)
    }

    /// Whether there is such a place.
    pub(super) fn has(&self, place: u32) -> bool {
        place < PLACES
    }

    /// The fragment in a place.
    ///
    /// # Safety
    /// A fragment of this many bytes has arrived there, and the place was not given back (V9).
    ///
    /// # Panics
    /// If there is no such place.
    pub(super) unsafe fn fragment(&self, place: u32, bytes: usize) -> &[u8] {
        assert!(place < PLACES && bytes <= FRAGMENT_BYTES, "{bytes} bytes in place {place}");
        let start = self.memory.at(place as usize * FRAGMENT_BYTES, bytes);
        // SAFETY: I3; V9: nobody writes it until it is given back.
        unsafe { std::slice::from_raw_parts(start, bytes) }
    }
}

/// The sending side, which all workers of a node share.
pub(super) struct FragmentPlaces {
    memory: Arc<DeviceMemory>,
    region: Arc<MemoryRegion>,
    remote: RemoteAddress,
    places: PlacePool,
}

impl FragmentPlaces {
    /// The sending side of a pool of the remote node.
    ///
    /// # Errors
    /// If there is no such memory, or it cannot be pinned.
    pub(super) fn new(domain: &Arc<ProtectionDomain>, remote: RemoteAddress) -> io::Result<Self> {
        let memory = DeviceMemory::map(PLACES as usize * FRAGMENT_BYTES)?;
        let region = MemoryRegion::new(domain, memory.clone(), RegionAccess::Source)?;
        Ok(Self { memory, region, remote, places: PlacePool::new(PLACES) })
    }

    /// Whether a place is free. If not, `worker`, by its number modulo 64, is told when one is.
    pub(super) fn has_free(&self, worker: usize) -> bool {
        self.places.has_free(worker % 64)
    }

    /// Takes a place.
    pub(super) fn take(&self) -> Option<u32> {
        self.places.take()
    }

    /// Copies a fragment to a place that was taken. Returns what to write, and where to.
    ///
    /// # Safety
    /// The caller has taken the place, and not given it back (V9).
    ///
    /// # Panics
    /// If there is no such place, or the fragment is too large.
    pub(super) unsafe fn fill(&self, place: u32, bytes: &[u8]) -> (GatherEntry, RemoteAddress) {
        assert!(place < PLACES && bytes.len() <= FRAGMENT_BYTES, "{} bytes in place {place}", bytes.len());
        let offset = place as usize * FRAGMENT_BYTES;
        let start = self.memory.at(offset, bytes.len());
        // SAFETY: I3; V9: nobody else writes or reads it, not even the device, since the reader has said that it took
        // what the device read.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) };
        (self.region.entry(offset..offset + bytes.len()), self.remote.behind(offset))
    }

    /// Gives back places, a bit for each. Returns the workers that wait for one, likewise.
    pub(super) fn give_back(&self, places: u64) -> u64 {
        self.places.give_back(places & ALL)
    }
}
