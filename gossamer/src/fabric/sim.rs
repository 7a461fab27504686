//! A fabric for tests, with the faults that its contract allows: writes are under way for a while, land in pieces, and
//! overtake each other, unless they go into the same slot. A seed decides, so that a failure can be had again.

use crate::fabric::{Endpoint, Event, Fabric, Lane, SlotMemory};
use crate::wire::refusal::Malformed;
use crate::wire::word::Word;
use fastrand::Rng;
use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;

/// What is under way between all ends of a simulation.
pub(crate) struct Network {
    random: RefCell<Rng>,
    /// In the order in which they were made.
    writes: RefCell<Vec<Write>>,
    registered: RefCell<HashMap<Lane, Arc<SlotMemory>>>,
}

/// A write of which the first `landed` words are in place.
struct Write {
    to: Arc<SlotMemory>,
    slot: usize,
    header: u64,
    body: Vec<Word>,
    landed: usize,
}

/// The way to the memory of one peer.
pub(crate) struct Wire {
    network: Rc<Network>,
    to: Arc<SlotMemory>,
}

impl Network {
    pub(crate) fn seeded(seed: u64) -> Rc<Self> {
        Rc::new(Self {
            random: RefCell::new(Rng::with_seed(seed)),
            writes: RefCell::default(),
            registered: RefCell::default(),
        })
    }

    /// Lets a piece of some write land. Returns whether there was one.
    pub(crate) fn step(&self) -> bool {
        let (mut random, mut writes) = (self.random.borrow_mut(), self.writes.borrow_mut());
        if writes.is_empty() {
            return false;
        }
        let chosen = &writes[random.usize(..writes.len())];
        let same = |write: &Write| write.slot == chosen.slot && Arc::ptr_eq(&write.to, &chosen.to);
        // W2: the first into this slot.
        let index = writes.iter().position(same).unwrap_or_default();
        let write = &mut writes[index];
        if write.landed == write.body.len() {
            write.to.announce(write.slot, write.header);
            writes.remove(index);
            return true;
        }
        let end = random.usize(write.landed + 1..=write.body.len());
        // SAFETY: M1: who wrote vouched for it (`Fabric::write`), and the reader waits for the header, which lands last.
        unsafe { write.to.land(write.slot, write.landed, &write.body[write.landed..end]) };
        write.landed = end;
        true
    }
}

impl Fabric for Wire {
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        let write = Write { to: Arc::clone(&self.to), slot, header, body: body.to_owned(), landed: 0 };
        self.network.writes.borrow_mut().push(write);
    }

    fn prepare(&self, _slot: usize, _words: usize) {}
}

impl Endpoint for Rc<Network> {
    type Fabric = Wire;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        Arc::clone(self.registered.borrow_mut().entry(lane).or_insert_with(SlotMemory::new))
    }

    fn connect(&self, lane: Lane) -> Wire {
        Wire { network: Rc::clone(self), to: self.register(lane) }
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn poll(&self, _told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        Ok(self.step())
    }
}

mod tests {
    use super::*;
    use crate::fabric::conformance::{Subject, conformance};

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
}
