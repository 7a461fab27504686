//! A fabric for tests, with the faults that its contract allows: writes are under way for a while, land in pieces, and
//! overtake each other unless they go into the same slot; fragments are reported as late as possible, and there is
//! seldom room for many. A seed decides, so that a failure can be reproduced.

use crate::fabric::{Busy, Endpoint, Event, FRAGMENT_BYTES, Fabric, Fragment, Lane, SlotMemory, Slots};
use crate::wire::refusal::Malformed;
use crate::wire::row::RowLayout;
use crate::wire::word::Word;
use fastrand::Rng;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::RawFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Fragments of one writer that may be under way.
const FRAGMENTS: usize = 3;

/// What is under way between all ends of a simulation.
pub(crate) struct Network {
    under_way: Mutex<UnderWay>,
}

struct UnderWay {
    random: Rng,
    /// In the order in which they were made.
    writes: Vec<SimWrite>,
    registered: HashMap<Lane, Arc<SlotMemory>>,
    /// By lane, those that were sent and not yet reported.
    fragments: HashMap<Lane, VecDeque<SimFragment>>,
}

/// A write whose first `landed` words are in place.
struct SimWrite {
    lane: Lane,
    to: Arc<SlotMemory>,
    slot: usize,
    header: u64,
    body: Vec<Word>,
    landed: usize,
}

struct SimFragment {
    ticket: u64,
    row: RowLayout,
    bytes: Vec<u8>,
}

impl Network {
    pub(crate) fn seeded(seed: u64) -> Arc<Self> {
        let under_way = UnderWay {
            random: Rng::with_seed(seed),
            writes: Vec::new(),
            registered: HashMap::new(),
            fragments: HashMap::new(),
        };
        Arc::new(Self { under_way: Mutex::new(under_way) })
    }

    fn lock(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        Arc::clone(self.lock().registered.entry(lane).or_insert_with(SlotMemory::new))
    }

    pub(crate) fn connect(self: &Arc<Self>, lane: Lane) -> SimWriter {
        SimWriter { network: Arc::clone(self), lane, to: self.register(lane) }
    }

    /// Lets a piece of some write land, whoever reads it. Returns whether there was one.
    pub(crate) fn step(&self) -> bool {
        self.lock().step(|_| true)
    }
}

impl UnderWay {
    /// Lets a piece of some write on one of these lanes land. Returns whether there was one.
    fn step(&mut self, lands: impl Fn(Lane) -> bool) -> bool {
        let of_lanes: Vec<_> = self.writes.iter().filter(|write| lands(write.lane)).collect();
        let Some(chosen) = self.random.choice(of_lanes) else { return false };
        let chosen = (chosen.lane, chosen.slot);
        // W2: the first write into this slot.
        let index =
            self.writes.iter().position(|write| (write.lane, write.slot) == chosen).unwrap_or_default();
        let write = &mut self.writes[index];
        if write.landed == write.body.len() {
            write.to.announce(write.slot, write.header);
            self.writes.remove(index);
            return true;
        }
        let end = self.random.usize(write.landed + 1..=write.body.len());
        // SAFETY: M1: the writer vouched for it (`Fabric::write`), and the reader waits for the header, which lands
        // last.
        unsafe { write.to.land(write.slot, write.landed, &write.body[write.landed..end]) };
        write.landed = end;
        true
    }

    /// All fragments for a worker, those of each lane in order (W7).
    fn take_fragments(&mut self, worker: usize) -> Vec<(Lane, VecDeque<SimFragment>)> {
        self.fragments.extract_if(|lane, _| lane.reader == worker).collect()
    }
}

/// One worker's end of the network. What is written to the worker lands while it polls.
pub(crate) struct SimEndpoint {
    worker: usize,
    network: Arc<Network>,
    /// The lanes to this worker that are known.
    known: RefCell<HashSet<Lane>>,
}

impl SimEndpoint {
    pub(crate) fn new(worker: usize, network: Arc<Network>) -> Self {
        Self { worker, network, known: RefCell::default() }
    }
}

impl Endpoint for SimEndpoint {
    type Fabric = SimWriter;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        self.network.register(lane)
    }

    fn connect(&self, lane: Lane) -> SimWriter {
        self.network.connect(lane)
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn poll(&self, mut told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        let mut under_way = self.network.lock();
        let is_new = |lane: &Lane| {
            lane.reader == self.worker
                && lane.slots == Slots::Requests
                && self.known.borrow_mut().insert(*lane)
        };
        let registered = under_way.registered.iter().filter(|(lane, _)| is_new(lane));
        let new: Vec<_> = registered.map(|(lane, memory)| (*lane, Arc::clone(memory))).collect();
        let fragments = under_way.take_fragments(self.worker);
        let landed = under_way.step(|lane| lane.reader == self.worker);
        drop(under_way);
        let arrived = landed || !new.is_empty() || !fragments.is_empty();
        let tell = || {
            new.into_iter().try_for_each(|(lane, memory)| told(Event::Lane(lane, memory)))?;
            for (Lane { writer, reader, .. }, fragments) in &fragments {
                for SimFragment { ticket, row, bytes } in fragments {
                    let fragment = Fragment { ticket: *ticket, row: *row, bytes };
                    told(Event::Fragment { writer: *writer, reader: *reader, fragment })?;
                }
            }
            Ok(())
        };
        tell().map_err(|malformed: Malformed| io::Error::new(io::ErrorKind::InvalidData, malformed))?;
        Ok(arrived)
    }

    fn has_arrivals(&self) -> bool {
        self.network.lock().fragments.keys().any(|lane| lane.reader == self.worker)
    }

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

/// The way to the memory of one peer.
pub(crate) struct SimWriter {
    network: Arc<Network>,
    lane: Lane,
    to: Arc<SlotMemory>,
}

impl Fabric for SimWriter {
    // SAFETY: the trait's contract, on which `step` relies when it lands the write.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        let (lane, to) = (self.lane, Arc::clone(&self.to));
        let write = SimWrite { lane, to, slot, header, body: body.to_owned(), landed: 0 };
        self.network.lock().writes.push(write);
    }

    fn prepare(&self, _slot: usize, _words: usize) {}

    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        assert!(fragment.bytes.len() <= FRAGMENT_BYTES, "a fragment is too large");
        let is_busy = self.network.lock().random.u8(..3) == 0;
        if is_busy || !self.has_room() {
            return Err(Busy);
        }
        let Fragment { ticket, row, bytes } = fragment;
        let sent = SimFragment { ticket, row, bytes: bytes.to_owned() };
        self.network.lock().fragments.entry(self.lane).or_default().push_back(sent);
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.network.lock().fragments.get(&self.lane).is_none_or(|under_way| under_way.len() < FRAGMENTS)
    }
}

mod tests {
    use super::*;
    use crate::fabric::conformance::{LANE, Subject, conformance, conformance_of_fragments};

    /// Two workers of two nodes.
    struct Ends {
        reader: SimEndpoint,
        writer: SimEndpoint,
    }

    impl Subject for Ends {
        type Endpoint = SimEndpoint;

        fn new(seed: u64) -> Self {
            let network = Network::seeded(seed);
            let end = |worker| SimEndpoint::new(worker, Arc::clone(&network));
            Self { reader: end(LANE.reader), writer: end(LANE.writer) }
        }

        fn reader(&self) -> &SimEndpoint {
            &self.reader
        }

        fn writer(&self) -> &SimEndpoint {
            &self.writer
        }
    }

    conformance!(Ends);
    conformance_of_fragments!(Ends);
}
