//! A fabric for tests, with the faults that its contract allows: writes are under way for a while, land in pieces, and
//! overtake each other unless they go into the same slot; fragments are reported as late as possible, and there is
//! seldom room for many. A seed decides, so that a failure can be reproduced.

use crate::fabric::{Busy, Endpoint, Event, FRAGMENT_BYTES, Fabric, Fragment, Lane, SlotMemory};
use crate::wire::refusal::Malformed;
use crate::wire::row::RowLayout;
use crate::wire::word::Word;
use fastrand::Rng;
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::RawFd;
use std::rc::Rc;
use std::sync::Arc;

/// Fragments of one writer that may be under way.
const FRAGMENTS: usize = 3;

/// What is under way between all ends of a simulation.
pub(crate) struct Network {
    random: RefCell<Rng>,
    /// In the order in which they were made.
    writes: RefCell<Vec<SimWrite>>,
    registered: RefCell<HashMap<Lane, Arc<SlotMemory>>>,
    /// By lane, those that were sent and not yet reported.
    fragments: RefCell<HashMap<Lane, VecDeque<SimFragment>>>,
}

/// A write whose first `landed` words are in place.
struct SimWrite {
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

/// The way to the memory of one peer.
pub(crate) struct SimWriter {
    network: Rc<Network>,
    lane: Lane,
    to: Arc<SlotMemory>,
}

impl Network {
    pub(crate) fn seeded(seed: u64) -> Rc<Self> {
        Rc::new(Self {
            random: RefCell::new(Rng::with_seed(seed)),
            writes: RefCell::default(),
            registered: RefCell::default(),
            fragments: RefCell::default(),
        })
    }

    /// Lets a piece of some write land. Returns whether there was one.
    pub(crate) fn step(&self) -> bool {
        let (mut random, mut writes) = (self.random.borrow_mut(), self.writes.borrow_mut());
        if writes.is_empty() {
            return false;
        }
        let chosen = &writes[random.usize(..writes.len())];
        let same = |write: &SimWrite| write.slot == chosen.slot && Arc::ptr_eq(&write.to, &chosen.to);
        // W2: the first write into this slot.
        let index = writes.iter().position(same).unwrap_or_default();
        let write = &mut writes[index];
        if write.landed == write.body.len() {
            write.to.announce(write.slot, write.header);
            writes.remove(index);
            return true;
        }
        let end = random.usize(write.landed + 1..=write.body.len());
        // SAFETY: M1: the writer vouched for it (`Fabric::write`), and the reader waits for the header, which lands
        // last.
        unsafe { write.to.land(write.slot, write.landed, &write.body[write.landed..end]) };
        write.landed = end;
        true
    }

    /// Takes all fragments, those of each lane in order (W7).
    pub(crate) fn take_fragments(
        &self,
        mut told: impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> Result<bool, Malformed> {
        let all = self.fragments.take();
        for (lane, fragments) in &all {
            for SimFragment { ticket, row, bytes } in fragments {
                let fragment = Fragment { ticket: *ticket, row: *row, bytes };
                told(Event::Fragment { writer: lane.writer, reader: lane.reader, fragment })?;
            }
        }
        Ok(!all.is_empty())
    }
}

impl Fabric for SimWriter {
    // SAFETY: the trait's contract, on which `step` relies when it lands the write.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        let write = SimWrite { to: Arc::clone(&self.to), slot, header, body: body.to_owned(), landed: 0 };
        self.network.writes.borrow_mut().push(write);
    }

    fn prepare(&self, _slot: usize, _words: usize) {}

    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        assert!(fragment.bytes.len() <= FRAGMENT_BYTES, "a fragment is too large");
        let is_busy = self.network.random.borrow_mut().u8(..3) == 0;
        if is_busy || !self.has_room() {
            return Err(Busy);
        }
        let Fragment { ticket, row, bytes } = fragment;
        let sent = SimFragment { ticket, row, bytes: bytes.to_owned() };
        self.network.fragments.borrow_mut().entry(self.lane).or_default().push_back(sent);
        Ok(())
    }

    fn has_room(&self) -> bool {
        self.network.fragments.borrow().get(&self.lane).is_none_or(|under_way| under_way.len() < FRAGMENTS)
    }
}

impl Endpoint for Rc<Network> {
    type Fabric = SimWriter;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        Arc::clone(self.registered.borrow_mut().entry(lane).or_insert_with(SlotMemory::new))
    }

    fn connect(&self, lane: Lane) -> SimWriter {
        SimWriter { network: Rc::clone(self), lane, to: self.register(lane) }
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn poll(&self, told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        let told =
            self.take_fragments(told).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        Ok(self.step() || told)
    }

    fn has_arrivals(&self) -> bool {
        !self.fragments.borrow().is_empty()
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

mod tests {
    use super::*;
    use crate::fabric::conformance::{Subject, conformance, conformance_of_fragments};

    impl Subject for Rc<Network> {
        type Endpoint = Self;

        fn new(seed: u64) -> Self {
            Network::seeded(seed)
        }

        fn reader(&self) -> &Self {
            self
        }

        fn writer(&self) -> &Self {
            self
        }
    }

    conformance!(std::rc::Rc<super::Network>);
    conformance_of_fragments!(std::rc::Rc<super::Network>);
}
