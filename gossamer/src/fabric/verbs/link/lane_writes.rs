//! The writes into slots of one lane of the remote node.

use crate::fabric::Slots;
use crate::fabric::verbs::memory::RemoteAddress;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// A write that waits.
#[derive(Clone)]
pub(super) struct WaitingWrite {
    pub(super) slot: usize,
    pub(super) header: u64,
    pub(super) body: Rc<[u8]>,
}

impl WaitingWrite {
    fn bytes(&self) -> usize {
        size_of::<u64>() + self.body.len()
    }
}

/// Where the slots are, and what waits to be written there.
pub(super) struct LaneWrites {
    key: (u32, Slots),
    target: Cell<Option<RemoteAddress>>,
    has_asked: Cell<bool>,
    /// In their order.
    waiting: RefCell<VecDeque<WaitingWrite>>,
    /// Fragments for the reader that its node has not taken: later writes wait for them (W7).
    fragments: Rc<Cell<u32>>,
}

impl LaneWrites {
    /// `other`: the writes into the other slots of the same reader, if there are any.
    pub(super) fn new(key: (u32, Slots), other: Option<&Self>) -> Rc<Self> {
        Rc::new(Self {
            key,
            target: Cell::new(None),
            has_asked: Cell::new(false),
            waiting: RefCell::default(),
            fragments: other.map(|other| Rc::clone(&other.fragments)).unwrap_or_default(),
        })
    }

    /// The reader, and which of its slots.
    #[inline(always)]
    pub(super) fn key(&self) -> (u32, Slots) {
        self.key
    }

    #[inline(always)]
    pub(super) fn target(&self) -> Option<RemoteAddress> {
        self.target.get()
    }

    /// Whether to ask where the slots are. True once.
    pub(super) fn ask(&self) -> bool {
        self.target.get().is_none() && !self.has_asked.replace(true)
    }

    /// Says where the slots are. Returns whether that was asked, and not answered before.
    pub(super) fn open(&self, to: RemoteAddress) -> bool {
        let is_awaited = self.has_asked.get() && self.target.get().is_none();
        if is_awaited {
            self.target.set(Some(to));
        }
        is_awaited
    }

    /// Whether waiting writes could go: their slots are known, and no fragment goes before them.
    pub(super) fn is_open(&self) -> bool {
        self.target.get().is_some() && self.fragments.get() == 0
    }

    /// Whether a write has to wait, behind other writes or behind fragments.
    #[inline(always)]
    pub(super) fn is_held(&self) -> bool {
        self.fragments.get() > 0 || !self.waiting.borrow().is_empty()
    }

    /// A fragment goes before later writes.
    pub(super) fn hold(&self) {
        self.fragments.set(self.fragments.get() + 1);
    }

    /// The fragment was taken.
    pub(super) fn release(&self) {
        self.fragments.set(self.fragments.get() - 1);
    }

    /// Leaves a write until it can be done. Returns how many more bytes wait now.
    pub(super) fn leave(&self, slot: usize, header: u64, body: &[u8]) -> usize {
        let waiting = WaitingWrite { slot, header, body: body.into() };
        let bytes = waiting.bytes();
        self.waiting.borrow_mut().push_back(waiting);
        bytes
    }

    pub(super) fn first(&self) -> Option<WaitingWrite> {
        self.waiting.borrow().front().cloned()
    }

    /// The write was done. Returns how many bytes no longer wait.
    pub(super) fn forget_first(&self) -> usize {
        self.waiting.borrow_mut().pop_front().map_or(0, |first| first.bytes())
    }
}
