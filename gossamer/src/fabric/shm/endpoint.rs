//! One worker's endpoint to all nodes of its machine. Writes land by themselves; its notifier tells of lanes and
//! fragments.

use crate::fabric::shm::Neighbours;
use crate::fabric::shm::queue::FragmentQueue;
use crate::fabric::{Busy, Endpoint, Event, Fabric, Fragment, Lane, SlotMemory, Slots};
use crate::sys::memory::segment::Segment;
use crate::wire::refusal::Malformed;
use crate::wire::word::Word;
use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::io;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::sync::Arc;

/// The endpoint of one worker.
pub(crate) struct ShmEndpoint {
    worker: usize,
    neighbours: Arc<Neighbours>,
    /// The announcements that this endpoint has looked at.
    seen: Cell<u32>,
    /// The workers whose lanes to this one are known.
    clients: RefCell<HashSet<usize>>,
}

impl ShmEndpoint {
    pub(crate) fn new(worker: usize, neighbours: Arc<Neighbours>) -> Self {
        Self { worker, neighbours, seen: Cell::new(0), clients: RefCell::default() }
    }

    /// What a worker has announced: that its lane is in use, or fragments.
    fn take_from(
        &self,
        client: usize,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> Result<(), Malformed> {
        if !self.neighbours.has(client) {
            return Err(Malformed::instead_of::<Lane>());
        }
        let (lane, pair) = (Lane::requests(client, self.worker), self.neighbours.pair_with(client));
        if self.clients.borrow_mut().insert(client) {
            told(Event::Lane(lane, pair.slots(lane)))?;
        }
        let queue = pair.queue(lane);
        let tell =
            |fragment: Fragment<'_>| told(Event::Fragment { writer: client, reader: self.worker, fragment });
        // SAFETY: B3: a worker has one endpoint, and only the worker's thread uses it.
        unsafe { queue.get().receive(tell) }.map(drop)
    }
}

impl Endpoint for ShmEndpoint {
    type Fabric = ShmWriter;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        self.neighbours.pair_with(lane.writer).slots(lane)
    }

    fn connect(&self, lane: Lane) -> ShmWriter {
        let pair = self.neighbours.pair_with(lane.reader);
        if lane.slots == Slots::Requests {
            self.neighbours.announce(lane.reader, lane.writer);
        }
        ShmWriter {
            lane,
            slots: pair.slots(lane),
            queue: pair.queue(lane),
            neighbours: Arc::clone(&self.neighbours),
        }
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn poll(&self, mut told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        let notifier = self.neighbours.notifier(self.worker);
        // Read before the bits: what is announced meanwhile raises the count again.
        let arrivals = notifier.arrivals();
        if self.seen.replace(arrivals) == arrivals {
            return Ok(false);
        }
        for client in notifier.senders() {
            self.take_from(client, &mut told)
                .map_err(|malformed| io::Error::new(io::ErrorKind::InvalidData, malformed))?;
        }
        Ok(true)
    }

    #[inline(always)]
    fn has_arrivals(&self) -> bool {
        self.neighbours.notifier(self.worker).arrivals() != self.seen.get()
    }

    #[inline(always)]
    fn unsent(&self) -> usize {
        0
    }

    fn descriptor(&self) -> Option<RawFd> {
        None
    }

    fn arm(&self) -> io::Result<()> {
        Ok(())
    }
}

/// The queue of fragments of one lane, in a segment that this keeps mapped.
pub(super) struct MappedQueue {
    pub(super) queue: NonNull<FragmentQueue>,
    pub(super) _mapped: Arc<Segment>,
}

impl MappedQueue {
    fn get(&self) -> &FragmentQueue {
        // SAFETY: T2: `Pair::queue` made it from a place inside the segment, which is mapped for as long as this
        // exists.
        unsafe { self.queue.as_ref() }
    }
}

/// The way to the slots of one lane, and for fragments to its reader.
pub(crate) struct ShmWriter {
    lane: Lane,
    slots: Arc<SlotMemory>,
    queue: MappedQueue,
    neighbours: Arc<Neighbours>,
}

impl Fabric for ShmWriter {
    #[inline(always)]
    // SAFETY: the trait's contract, which the caller keeps.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        // SAFETY: guaranteed by the caller.
        unsafe { self.slots.write(slot, header, body) };
    }

    #[inline(always)]
    fn prepare(&self, slot: usize, words: usize) {
        self.slots.prepare(slot, words);
    }

    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        // SAFETY: B2: a worker has one way for requests to each other worker, and sends fragments on no other.
        unsafe { self.queue.get().send(fragment) }?;
        self.neighbours.announce(self.lane.reader, self.lane.writer);
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.queue.get().has_room()
    }
}

#[cfg(all(test, not(loom)))]
#[expect(clippy::unwrap_used, reason = "a test fails by it")]
mod tests {
    use super::*;
    use crate::fabric::conformance::{LANE, Subject, conformance, conformance_of_fragments};
    use crate::fabric::shm::{Neighbour, Notifiers, Pair};
    use std::os::fd::AsFd;

    /// Two workers of two nodes, with the mappings that each has.
    struct Mapped {
        reader: ShmEndpoint,
        writer: ShmEndpoint,
    }

    impl Subject for Mapped {
        type Endpoint = ShmEndpoint;

        fn new(seed: u64) -> Self {
            let workers = [LANE.reader..LANE.reader + 3, LANE.writer..LANE.writer + 2];
            let made = (seed % 2) as usize;
            let [ours, theirs] = [workers[made].clone(), workers[1 - made].clone()];
            let pair = Pair::create(ours.clone(), theirs.clone()).unwrap();
            let again = pair.as_fd().try_clone_to_owned().unwrap();
            let mut pairs = [pair, Pair::attach(again, theirs, ours).unwrap()];
            pairs.rotate_left(made);
            let senders = LANE.reader + 3;
            let own = workers.each_ref().map(|workers| Notifiers::create(workers.len(), senders).unwrap());
            let theirs = [1, 0].map(|node| {
                let notifiers = own[node].as_fd().try_clone_to_owned().unwrap();
                Notifiers::attach(notifiers, workers[node].len(), senders).unwrap()
            });
            let mut ends = own.into_iter().zip(theirs).zip(pairs).zip([(0, 1), (1, 0)]).map(
                |(((own, notifiers), pair), (node, other))| {
                    let neighbour =
                        Neighbour { workers: workers[other].clone(), pair, notifiers, eventfds: Vec::new() };
                    let all = Neighbours::new(workers[node].clone(), own, vec![neighbour]);
                    ShmEndpoint::new(workers[node].start, Arc::new(all))
                },
            );
            Self { reader: ends.next().unwrap(), writer: ends.next().unwrap() }
        }

        fn reader(&self) -> &ShmEndpoint {
            &self.reader
        }

        fn writer(&self) -> &ShmEndpoint {
            &self.writer
        }
    }

    conformance!(Mapped);
    conformance_of_fragments!(Mapped);

    #[test]
    fn announcements_of_who_is_no_neighbour_are_refused() {
        for worker in [LANE.reader, LANE.writer + 2, 63] {
            let subject = Mapped::new(0);
            subject.writer.neighbours.announce(LANE.reader, worker);
            let refused = subject.reader.poll(|_| Ok(())).unwrap_err();
            assert_eq!(refused.kind(), io::ErrorKind::InvalidData, "worker {worker}");
        }
    }

    #[test]
    fn who_announces_nothing_new_is_heard_without_harm() {
        let subject = Mapped::new(0);
        let mut lanes = 0;
        for _ in 0..100 {
            subject.writer.neighbours.announce(LANE.reader, LANE.writer);
            let told = |event: Event<'_>| {
                lanes += u32::from(matches!(event, Event::Lane(..)));
                Ok(())
            };
            assert!(subject.reader.poll(told).unwrap());
        }
        assert_eq!(lanes, 1, "a lane is told of once");
    }
}
