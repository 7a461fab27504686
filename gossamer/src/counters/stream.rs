//! What memory streams count, for the whole process: any thread and signal handlers use their ends. So these counters
//! are shared, and written about once for each block.

use crate::atomic::fixed::AtomicU64;
use std::sync::atomic::Ordering;

/// Bytes of one end that are counted at once.
const AT_ONCE: u64 = 1 << 20;

/// The counters of ends of one kind.
#[derive(Debug)]
pub(crate) struct EndCounters {
    bytes: AtomicU64,
    waits: AtomicU64,
}

/// Ends that write.
pub(crate) static SENDERS: EndCounters = EndCounters::new();
/// Ends that read.
pub(crate) static RECEIVERS: EndCounters = EndCounters::new();

impl EndCounters {
    const fn new() -> Self {
        Self { bytes: AtomicU64::new(0), waits: AtomicU64::new(0) }
    }

    /// This many bytes were written or read.
    pub(crate) fn note_bytes(&self, bytes: u64) {
        // Relaxed, here and below: they stand for themselves.
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// An end waits for the other.
    pub(crate) fn note_wait(&self) {
        self.waits.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes, and waits.
    pub(crate) fn read(&self) -> (u64, u64) {
        (self.bytes.load(Ordering::Relaxed), self.waits.load(Ordering::Relaxed))
    }
}

/// Bytes of one end: added to the counters when there are many, and at its end.
#[derive(Debug)]
pub(crate) struct Tally {
    counters: &'static EndCounters,
    uncounted: u64,
}

impl Tally {
    pub(crate) fn new(counters: &'static EndCounters) -> Self {
        Self { counters, uncounted: 0 }
    }

    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.uncounted += bytes;
        if self.uncounted >= AT_ONCE {
            self.count();
        }
    }

    fn count(&mut self) {
        self.counters.note_bytes(std::mem::take(&mut self.uncounted));
    }
}

impl Drop for Tally {
    fn drop(&mut self) {
        self.count();
    }
}
