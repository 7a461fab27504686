//! Which readers hear that something has landed: the last header for each reader in a chain comes with an immediate
//! that names the reader, so that a reader that sleeps is woken.

use crate::fabric::verbs::link::credit::Credit;
use crate::fabric::verbs::link::message::Immediate;
use crate::fabric::verbs::link::send_queue::SendQueue;
use crate::fabric::verbs::memory::RemoteAddress;
use std::cell::RefCell;

/// Readers that something is sent to.
#[derive(Default)]
pub(super) struct ToldReaders {
    /// The last header for each that was not posted yet: its place in the chain.
    headers: RefCell<Vec<(u32, usize)>>,
    /// Readers that something was sent to and that could not be told.
    untold: RefCell<Vec<u32>>,
}

impl ToldReaders {
    /// How many still have to be told.
    pub(super) fn untold(&self) -> usize {
        self.untold.borrow().len()
    }

    /// A header for a reader is at this place of the chain.
    #[inline]
    pub(super) fn add(&self, reader: u32, place: usize) {
        let mut headers = self.headers.borrow_mut();
        match headers.iter_mut().find(|(known, _)| *known == reader) {
            Some((_, last)) => *last = place,
            None => headers.push((reader, place)),
        }
    }

    /// Tells all of them, as far as there is credit: with their headers, or with an empty write.
    pub(super) fn tell(&self, sends: &mut SendQueue, credit: &Credit, outbox: RemoteAddress) {
        let mut untold = self.untold.borrow_mut();
        for (reader, place) in self.headers.borrow_mut().drain(..) {
            if credit.is_there() {
                sends.tell(place, Immediate::Landed(reader).pack());
                credit.spend();
            } else if !untold.contains(&reader) {
                untold.push(reader);
            }
        }
        while credit.is_there() && sends.has_room(1, 0) {
            let Some(reader) = untold.pop() else { return };
            let added = sends.write(&[], outbox, Some(Immediate::Landed(reader).pack()));
            debug_assert!(added.is_some(), "nothing takes no room");
            credit.spend();
        }
    }
}
