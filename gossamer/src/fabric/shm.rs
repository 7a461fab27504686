//! Lane memory of two nodes of one machine: which lane lies where, and what tells a worker of new lanes and wakes it.
//!
//! Invariants
//! - T1: a `Pair` is laid out by the workers of its two nodes, which both got from node 0: both see the same.
//! - T2: the words outside of slots are atomics at offsets inside the segment, aligned.

use crate::atomic::{AtomicU32, Ordering};
use crate::fabric::bulk::{self, Places};
use crate::fabric::{Endpoint, Event, Lane, SlotMemory, Slots};
use crate::sys::memory::segment::Segment;
use crate::sys::sync::doorbell::Doorbell;
use crate::wire::refusal::Malformed;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// What the other nodes of a machine may touch of one worker. A line of its own.
#[repr(C, align(128))]
pub(crate) struct Porch {
    pub(crate) doorbell: Doorbell,
    /// Raised when a lane to this worker was made.
    connects: AtomicU32,
}

impl Porch {
    /// Says that there is a new lane.
    pub(crate) fn announce(&self) {
        // Release: pairs with the Acquire in `connects`, so that who sees the count sees the mark in the pair.
        self.connects.fetch_add(1, Ordering::Release);
    }

    /// How many lanes were made.
    #[inline(always)]
    pub(crate) fn connects(&self) -> u32 {
        // Acquire: pairs with the Release in `announce`.
        self.connects.load(Ordering::Acquire)
    }
}

/// The porches of the workers of one node.
pub(crate) struct Porches {
    segment: Segment,
    workers: usize,
}

impl Porches {
    /// Those of this node.
    ///
    /// # Errors
    /// If there is not so much memory, or no descriptor left.
    pub(crate) fn create(workers: usize) -> io::Result<Self> {
        Ok(Self { segment: Segment::create(Self::bytes(workers))?, workers })
    }

    /// Those of another node.
    ///
    /// # Errors
    /// If the descriptor is not that of the porches of so many workers.
    pub(crate) fn attach(descriptor: OwnedFd, workers: usize) -> io::Result<Self> {
        Ok(Self { segment: Segment::attach(descriptor, Self::bytes(workers))?, workers })
    }

    fn bytes(workers: usize) -> usize {
        workers * size_of::<Porch>()
    }

    /// That of one worker, by its number in its node.
    #[inline]
    pub(crate) fn of(&self, worker: usize) -> &Porch {
        assert!(worker < self.workers, "worker {worker} of {}", self.workers);
        let porch = self.segment.start().cast::<Porch>().as_ptr().wrapping_add(worker);
        // SAFETY: T2, E1: inside the segment (asserted), which lives as long as `self`; zeros are a valid porch.
        unsafe { &*porch }
    }
}

impl AsFd for Porches {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.segment.as_fd()
    }
}

/// The endpoint of two nodes that share memory: the lanes between their workers, in both directions. Both see the same slots, so
/// nothing has to be sent or taken.
pub(crate) struct Pair {
    segment: Arc<Segment>,
    /// Workers of the node that made it, and of the other: where they begin among all, and how many there are.
    workers: [Range<usize>; 2],
}

impl Pair {
    /// New lanes between the workers of this node and another.
    ///
    /// # Errors
    /// If there is not so much memory, or no descriptor left.
    pub(crate) fn create(ours: Range<usize>, theirs: Range<usize>) -> io::Result<Self> {
        let workers = [ours, theirs];
        Ok(Self { segment: Arc::new(Segment::create(Self::bytes(&workers))?), workers })
    }

    /// The lanes that the other node made.
    ///
    /// # Errors
    /// If the descriptor is not that of lanes between so many workers.
    pub(crate) fn attach(descriptor: OwnedFd, ours: Range<usize>, theirs: Range<usize>) -> io::Result<Self> {
        let workers = [theirs, ours];
        let segment = Segment::attach(descriptor, Self::bytes(&workers))?;
        Ok(Self { segment: Arc::new(segment), workers })
    }

    fn lanes(workers: &[Range<usize>; 2]) -> usize {
        2 * workers[0].len() * workers[1].len()
    }

    /// Bytes of one lane: request slots, response slots, places for large values.
    const LANE: usize = 2 * SlotMemory::BYTES + bulk::PLACES * bulk::BYTES;

    fn start(&self, lane: usize) -> usize {
        Self::marks(&self.workers) + lane * Self::LANE
    }

    /// Bytes of the marks of lanes that are in use.
    fn marks(workers: &[Range<usize>; 2]) -> usize {
        (Self::lanes(workers) * size_of::<AtomicU32>()).next_multiple_of(4096)
    }

    fn bytes(workers: &[Range<usize>; 2]) -> usize {
        Self::marks(workers) + Self::lanes(workers) * Self::LANE
    }

    /// The number of the lane between two workers.
    fn lane(&self, client: usize, trustee: usize) -> usize {
        let [made, other] = &self.workers;
        let (first, second) = if made.contains(&client) { (client, trustee) } else { (trustee, client) };
        assert!(made.contains(&first) && other.contains(&second), "a lane between workers of both nodes");
        ((first - made.start) * other.len() + second - other.start) * 2 + usize::from(first == trustee)
    }

    fn slots(&self, Lane { reader, writer, slots }: Lane) -> Arc<SlotMemory> {
        let (lane, offset) = match slots {
            Slots::Requests => (self.lane(writer, reader), 0),
            Slots::Responses => (self.lane(reader, writer), SlotMemory::BYTES),
        };
        SlotMemory::in_segment(&self.segment, self.start(lane) + offset)
    }

    /// Where large values go from a client to a trustee.
    pub(crate) fn places(&self, client: usize, trustee: usize) -> Places {
        let start = self.start(self.lane(client, trustee));
        Places::in_segment(&self.segment, start + 2 * SlotMemory::BYTES)
    }

    fn mark(&self, client: usize, trustee: usize) -> &AtomicU32 {
        let lane = self.lane(client, trustee);
        let mark = self.segment.start().cast::<AtomicU32>().as_ptr().wrapping_add(lane);
        // SAFETY: T1, T2, E1: the lane is one of the pair's, so its mark is inside the segment.
        unsafe { &*mark }
    }

    /// Says that a lane is in use from now on. Who calls this announces it.
    pub(crate) fn open(&self, client: usize, trustee: usize) {
        // Relaxed: `Porch::announce` comes behind it.
        self.mark(client, trustee).store(1, Ordering::Relaxed);
    }

    /// Whether a lane is in use.
    pub(crate) fn is_open(&self, client: usize, trustee: usize) -> bool {
        // Relaxed: `Porch::connects` came before it.
        self.mark(client, trustee).load(Ordering::Relaxed) == 1
    }
}

impl Endpoint for Pair {
    type Fabric = Arc<SlotMemory>;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        self.slots(lane)
    }

    fn connect(&self, lane: Lane) -> Arc<SlotMemory> {
        self.slots(lane)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn poll(&self, _told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        Ok(false)
    }
}

impl AsFd for Pair {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.segment.as_fd()
    }
}

#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;
    use crate::fabric::conformance::{LANE, Subject, conformance};

    /// The two mappings that two nodes have.
    struct Mapped {
        reader: Pair,
        writer: Pair,
    }

    impl Subject for Mapped {
        type Endpoint = Pair;

        fn new(seed: u64) -> Self {
            let (reads, writes) = (LANE.reader..LANE.reader + 3, LANE.writer..LANE.writer + 2);
            if seed.is_multiple_of(2) {
                let reader = Pair::create(reads.clone(), writes.clone()).unwrap();
                let descriptor = reader.as_fd().try_clone_to_owned().unwrap();
                return Self { writer: Pair::attach(descriptor, writes, reads).unwrap(), reader };
            }
            let writer = Pair::create(writes.clone(), reads.clone()).unwrap();
            let descriptor = writer.as_fd().try_clone_to_owned().unwrap();
            Self { reader: Pair::attach(descriptor, reads, writes).unwrap(), writer }
        }

        fn reader(&self) -> &Pair {
            &self.reader
        }

        fn writer(&self) -> &Pair {
            &self.writer
        }
    }

    conformance!(Mapped);

    #[test]
    fn every_lane_of_a_pair_has_a_place_of_its_own() {
        let pair = Pair::create(2..4, 7..10).unwrap();
        let lanes = (2..4).flat_map(|ours| (7..10).flat_map(move |theirs| [(ours, theirs), (theirs, ours)]));
        let mut numbers: Vec<_> = lanes.map(|(client, trustee)| pair.lane(client, trustee)).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..12));
    }
}
