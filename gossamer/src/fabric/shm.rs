//! Lane memory of two nodes of one machine: which lane lies where, and what tells a worker of new lanes and wakes it.
//!
//! Invariants
//! - T1: a `Pair` is laid out by the numbers of workers of its two nodes, which both got from node 0: both see the same.
//! - T2: the words outside of slots are atomics at offsets inside the segment, aligned.

use crate::fabric::SlotMemory;
use crate::fabric::bulk::{self, Places};
use crate::sys::atomic::{AtomicU32, Ordering};
use crate::sys::doorbell::Doorbell;
use crate::sys::segment::Segment;
use std::io;
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

/// The lanes between the workers of two nodes, in both directions.
pub(crate) struct Pair {
    segment: Arc<Segment>,
    /// Workers of the node that made it, and of the other.
    workers: [usize; 2],
    /// Which of the two nodes this is.
    side: usize,
}

/// The request and the response slots of one lane.
pub(crate) type LaneMemory = (Arc<SlotMemory>, Arc<SlotMemory>);

impl Pair {
    /// New lanes between this node and another.
    ///
    /// # Errors
    /// If there is not so much memory, or no descriptor left.
    pub(crate) fn create(ours: usize, theirs: usize) -> io::Result<Self> {
        let workers = [ours, theirs];
        Ok(Self { segment: Arc::new(Segment::create(Self::bytes(workers))?), workers, side: 0 })
    }

    /// The lanes that the other node made.
    ///
    /// # Errors
    /// If the descriptor is not that of lanes between so many workers.
    pub(crate) fn attach(descriptor: OwnedFd, ours: usize, theirs: usize) -> io::Result<Self> {
        let workers = [theirs, ours];
        let segment = Segment::attach(descriptor, Self::bytes(workers))?;
        Ok(Self { segment: Arc::new(segment), workers, side: 1 })
    }

    const fn lanes(workers: [usize; 2]) -> usize {
        2 * workers[0] * workers[1]
    }

    /// Bytes of one lane: request slots, response slots, places for large values.
    const LANE: usize = 2 * SlotMemory::BYTES + bulk::PLACES * bulk::BYTES;

    fn start(&self, lane: usize) -> usize {
        Self::marks(self.workers) + lane * Self::LANE
    }

    /// Where large values go on the lane from our worker to theirs, or, if `inbound`, the other way.
    pub(crate) fn places(&self, ours: usize, theirs: usize, inbound: bool) -> Places {
        let start = self.start(self.lane(ours, theirs, inbound));
        Places::in_segment(&self.segment, start + 2 * SlotMemory::BYTES)
    }

    /// Bytes of the marks of lanes that are in use.
    const fn marks(workers: [usize; 2]) -> usize {
        (Self::lanes(workers) * size_of::<AtomicU32>()).next_multiple_of(4096)
    }

    const fn bytes(workers: [usize; 2]) -> usize {
        Self::marks(workers) + Self::lanes(workers) * Self::LANE
    }

    /// The number of the lane from our worker to theirs, or, if `inbound`, the other way.
    fn lane(&self, ours: usize, theirs: usize, inbound: bool) -> usize {
        let [first, second] = if self.side == 0 { [ours, theirs] } else { [theirs, ours] };
        assert!(first < self.workers[0] && second < self.workers[1], "a lane between workers that there are");
        let client = if inbound { 1 - self.side } else { self.side };
        (first * self.workers[1] + second) * 2 + client
    }

    fn memory(&self, lane: usize) -> LaneMemory {
        let start = self.start(lane);
        let slots = |offset| SlotMemory::in_segment(&self.segment, offset);
        (slots(start), slots(start + SlotMemory::BYTES))
    }

    fn mark(&self, lane: usize) -> &AtomicU32 {
        let mark = self.segment.start().cast::<AtomicU32>().as_ptr().wrapping_add(lane);
        // SAFETY: T1, T2, E1: the lane is one of the pair's, so its mark is inside the segment.
        unsafe { &*mark }
    }

    /// The lane from our worker to theirs, which is in use from now on. Who calls this announces it.
    pub(crate) fn connect(&self, ours: usize, theirs: usize) -> LaneMemory {
        let lane = self.lane(ours, theirs, false);
        // Relaxed: `Porch::announce` comes behind it.
        self.mark(lane).store(1, Ordering::Relaxed);
        self.memory(lane)
    }

    /// The lane from their worker to ours, if it is in use.
    pub(crate) fn connected(&self, theirs: usize, ours: usize) -> Option<LaneMemory> {
        let lane = self.lane(ours, theirs, true);
        // Relaxed: `Porch::connects` came before it.
        (self.mark(lane).load(Ordering::Relaxed) == 1).then(|| self.memory(lane))
    }
}

impl AsFd for Pair {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.segment.as_fd()
    }
}
