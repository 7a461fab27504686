//! Memory for values too large for slots, beside the slots of a lane between two nodes of one machine.
//!
//! It has `PLACES` places of `BYTES` bytes. The client fills one and sends a request that names it; once that is answered, the
//! place is the client's again.
//!
//! Invariants
//! - B2: a place is written by the client only, and only while no request that names it is unanswered.
//! - B3: a place is read by the trustee only while it serves the request that names it, which came behind the writes by a
//!   Release store of the slot's header.

use crate::sys::memory::segment::Segment;
use std::ptr::NonNull;
use std::sync::Arc;

/// Bytes of one place.
pub(crate) const BYTES: usize = 64 * 1024;
/// Places of one lane.
pub(crate) const PLACES: usize = 8;

/// The places of one lane.
pub(crate) struct Places {
    start: NonNull<u8>,
    _mapped: Arc<Segment>,
}

impl Places {
    /// The places that begin `offset` bytes into a segment.
    ///
    /// # Panics
    /// If the segment is too small.
    pub(crate) fn in_segment(segment: &Arc<Segment>, offset: usize) -> Self {
        assert!(offset + PLACES * BYTES <= segment.len(), "a segment has room for the places of its lanes");
        // SAFETY: inside the mapping (asserted).
        let start = unsafe { segment.start().byte_add(offset) };
        Self { start, _mapped: Arc::clone(segment) }
    }

    fn place(&self, place: usize) -> *mut u8 {
        assert!(place < PLACES, "place {place} of {PLACES}");
        self.start.as_ptr().wrapping_add(place * BYTES)
    }

    /// Fills a place.
    ///
    /// # Safety
    /// B2.
    ///
    /// # Panics
    /// If there are more bytes than a place has.
    pub(crate) unsafe fn write(&self, place: usize, bytes: &[u8]) {
        assert!(bytes.len() <= BYTES, "{} bytes for a place", bytes.len());
        // SAFETY: inside the place (asserted), which nobody else uses (B2).
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.place(place), bytes.len()) };
    }

    /// What is in a place, from its start.
    ///
    /// # Safety
    /// B3, for as long as the bytes are used.
    ///
    /// # Panics
    /// If a place has not so many.
    pub(crate) unsafe fn read(&self, place: usize, count: usize) -> &[u8] {
        assert!(count <= BYTES, "{count} bytes of a place");
        // SAFETY: inside the place (asserted), which nobody writes meanwhile (B3).
        unsafe { std::slice::from_raw_parts(self.place(place), count) }
    }
}
