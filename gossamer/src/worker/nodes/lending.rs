//! Counting the trusts that other nodes hold.
//!
//! A trust that is sent to another node is *lent*: the worker that encodes it keeps the handle it had, under a number. The
//! node that decodes it counts its own clones, as every node does, and gives the number back when the last of them is gone.
//! So each node counts for those that it sent a trust to, whatever they did with it, and the owner drops the property when
//! its own handle, and with it all that were lent, are gone: an indirect count (Piquer, "Indirect reference counting", 1991). No
//! message has to arrive before another. The thesis (3.2.6) sends one to the owner for each clone and each drop.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;

/// What one worker has lent.
#[derive(Default)]
pub(crate) struct Lending {
    handles: RefCell<HashMap<u64, Box<dyn Any>>>,
    next: Cell<u64>,
}

impl Lending {
    /// Keeps a handle until the number that this returns is given back.
    pub(crate) fn lend(&self, handle: impl Any) -> u64 {
        let number = self.next.get();
        self.next.set(number + 1);
        self.handles.borrow_mut().insert(number, Box::new(handle));
        number
    }

    /// Gives up what was lent under this number.
    pub(crate) fn give_back(&self, number: u64) {
        let handle = self.handles.borrow_mut().remove(&number);
        // Outside of the borrow: the last of its kind tells the trustee.
        drop(handle);
    }
}
