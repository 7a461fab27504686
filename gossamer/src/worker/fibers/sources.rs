//! The descriptors that one poller watches, and the owner of each event.

use crate::structures::slot_table::{SlotTable, TableSlot};
use crate::worker::fibers::readiness::Readiness;
use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Registry, Token};
use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The token of the worker's own waker; sources have others.
pub(crate) const WAKE: Token = Token(usize::MAX);

/// The sources registered with one poller. Usable from any thread.
///
/// The token of a source is the number of a slot, so an event finds its source without a lock. An event that was
/// taken from the kernel before its source was deregistered may reach the next owner of the slot, where it causes one
/// unneeded attempt.
pub(crate) struct Sources {
    registry: Registry,
    slots: SlotTable<Readiness>,
    /// Number of sources.
    count: AtomicUsize,
}

impl Sources {
    pub(crate) fn new(registry: Registry) -> Self {
        Self { registry, slots: SlotTable::new(), count: AtomicUsize::new(0) }
    }

    /// Whether any source is registered.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.count.load(Ordering::Relaxed) > 0
    }

    /// Registers a descriptor for both directions, edge-triggered. Readiness that already exists counts as an event.
    ///
    /// # Errors
    /// If the kernel refuses, for example because the user has too many.
    pub(crate) fn register(&self, descriptor: RawFd) -> io::Result<TableSlot<Readiness>> {
        let slot = self.slots.take().ok_or_else(|| io::Error::other("too many sources for one poller"))?;
        slot.begin();
        self.count.fetch_add(1, Ordering::Relaxed);
        // Urgent data, too: see `readiness`.
        let all = Interest::READABLE | Interest::WRITABLE | Interest::PRIORITY;
        let token = Token(slot.number() as usize);
        if let Err(error) = self.registry.register(&mut SourceFd(&descriptor), token, all) {
            self.forget(&slot);
            return Err(error);
        }
        Ok(slot)
    }

    /// Undoes `register`. The descriptor is still open, and nobody waits for it.
    pub(crate) fn deregister(&self, descriptor: RawFd, slot: &TableSlot<Readiness>) {
        // A refusal does not matter: the descriptor is about to close.
        let _closing = self.registry.deregister(&mut SourceFd(&descriptor));
        self.forget(slot);
    }

    fn forget(&self, slot: &TableSlot<Readiness>) {
        self.slots.give_back(slot.number());
        self.count.fetch_sub(1, Ordering::Relaxed);
    }

    /// Wakes those who wait for one of `events`. Returns whether there was one of a source.
    pub(crate) fn dispatch(&self, events: &Events) -> bool {
        let mut found = false;
        for event in events.iter().filter(|event| event.token() != WAKE) {
            let number = u32::try_from(event.token().0).unwrap_or(u32::MAX);
            if let Some(readiness) = self.slots.get(number) {
                note(readiness, event);
                found = true;
            }
        }
        found
    }
}

fn note(readiness: &Readiness, event: &Event) {
    let is_special = event.is_read_closed() || event.is_error() || event.is_priority();
    if event.is_readable() || is_special {
        readiness.count_readable(is_special);
    }
    if event.is_writable() || event.is_write_closed() || event.is_error() {
        readiness.count_writable();
    }
}
