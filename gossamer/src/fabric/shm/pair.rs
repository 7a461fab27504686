//! The memory of all lanes between two nodes of one machine: which lane lies where.

use crate::fabric::shm::endpoint::MappedQueue;
use crate::fabric::shm::queue::FragmentQueue;
use crate::fabric::{Lane, SlotMemory, Slots};
use crate::sys::memory::segment::Segment;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The lanes between the workers of two nodes, in both directions.
pub(crate) struct Pair {
    segment: Arc<Segment>,
    /// Workers of the node that made it, and of the other: the first number among all, and how many there are.
    workers: [Range<usize>; 2],
}

impl Pair {
    /// New lanes between the workers of this node and another.
    ///
    /// # Errors
    /// If there is not enough memory, or no descriptor left.
    pub(crate) fn create(ours: Range<usize>, theirs: Range<usize>) -> io::Result<Self> {
        let workers = [ours, theirs];
        Ok(Self { segment: Arc::new(Segment::create(Self::bytes(&workers))?), workers })
    }

    /// The lanes that the other node made.
    ///
    /// # Errors
    /// If the descriptor is not that of lanes between this many workers.
    pub(crate) fn attach(descriptor: OwnedFd, ours: Range<usize>, theirs: Range<usize>) -> io::Result<Self> {
        let workers = [theirs, ours];
        let segment = Segment::attach(descriptor, Self::bytes(&workers))?;
        Ok(Self { segment: Arc::new(segment), workers })
    }

    fn lanes(workers: &[Range<usize>; 2]) -> usize {
        2 * workers[0].len() * workers[1].len()
    }

    /// Bytes of one lane: request slots, response slots, fragments.
    const LANE: usize = 2 * SlotMemory::BYTES + size_of::<FragmentQueue>();

    fn bytes(workers: &[Range<usize>; 2]) -> usize {
        Self::lanes(workers) * Self::LANE
    }

    /// The number of the lane between two workers.
    fn number(&self, client: usize, trustee: usize) -> usize {
        let [made, other] = &self.workers;
        let (first, second) = if made.contains(&client) { (client, trustee) } else { (trustee, client) };
        assert!(made.contains(&first) && other.contains(&second), "a lane between workers of both nodes");
        ((first - made.start) * other.len() + second - other.start) * 2 + usize::from(first == trustee)
    }

    /// The slots of a lane. Both nodes see the same.
    pub(super) fn slots(&self, lane: Lane) -> Arc<SlotMemory> {
        let offset = match lane.slots {
            Slots::Requests => 0,
            Slots::Responses => SlotMemory::BYTES,
        };
        SlotMemory::in_segment(&self.segment, self.start(lane) + offset)
    }

    /// The fragments from the client of a lane to its trustee.
    pub(super) fn queue(&self, lane: Lane) -> MappedQueue {
        let offset = self.start(lane) + 2 * SlotMemory::BYTES;
        assert!(
            offset + size_of::<FragmentQueue>() <= self.segment.len(),
            "a segment has room for all lanes"
        );
        assert!(offset.is_multiple_of(align_of::<FragmentQueue>()), "queues are aligned");
        // SAFETY: T1: inside the mapping (asserted).
        let queue = unsafe { self.segment.start().byte_add(offset) }.cast();
        MappedQueue { queue, _mapped: Arc::clone(&self.segment) }
    }

    /// Where a lane begins in the segment.
    fn start(&self, Lane { reader, writer, slots }: Lane) -> usize {
        Self::LANE
            * match slots {
                Slots::Requests => self.number(writer, reader),
                Slots::Responses => self.number(reader, writer),
            }
    }
}

impl AsFd for Pair {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.segment.as_fd()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn every_lane_of_a_pair_has_a_place_of_its_own() {
        let pair = Pair::create(2..4, 7..10).unwrap();
        let lanes = (2..4).flat_map(|ours| (7..10).flat_map(move |theirs| [(ours, theirs), (theirs, ours)]));
        let mut numbers: Vec<_> = lanes.map(|(client, trustee)| pair.number(client, trustee)).collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..12));
    }
}
