//! Events with a descriptor that is readable while there are some.

use crate::state::State;
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, IoSliceMut, ReadWriteFlags, preadv2};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Events in the order in which they came.
pub(crate) struct EventQueue<T> {
    /// Counts them. A caller reads the count first, without the lock, and then takes the event with the lock; so there
    /// may be fewer events than it counted, if one was withdrawn meanwhile.
    counter: OwnedFd,
    entries: VecDeque<T>,
}

/// What `ibv_get_async_event` reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AsyncEvent {
    pub kind: u32,
    pub subject: Subject,
}

/// What an event is about; objects are given by their address in C.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Subject {
    Queue { handle: u32, address: usize },
    Pair { handle: u32, address: usize },
    Port(u8),
    Device,
}

impl Subject {
    pub(crate) fn handle(self) -> Option<u32> {
        match self {
            Self::Queue { handle, .. } | Self::Pair { handle, .. } => Some(handle),
            Self::Port(_) | Self::Device => None,
        }
    }
}

impl<T> EventQueue<T> {
    pub(crate) fn new() -> Result<Self, Errno> {
        let counter = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::SEMAPHORE)?;
        Ok(Self { counter, entries: VecDeque::new() })
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.counter.as_raw_fd()
    }

    pub(crate) fn push(&mut self, event: T) {
        self.entries.push_back(event);
        // It cannot be full: it counts objects in memory.
        let _ = rustix::io::write(&self.counter, &1_u64.to_ne_bytes());
    }

    /// The event that a read of the descriptor has announced, if it was not withdrawn.
    pub(crate) fn take(&mut self) -> Option<T> {
        self.entries.pop_front()
    }

    /// Withdraws events that nobody has taken.
    pub(crate) fn withdraw(&mut self, mut is_withdrawn: impl FnMut(&T) -> bool) {
        let before = self.entries.len();
        self.entries.retain(|event| !is_withdrawn(event));
        for _ in self.entries.len()..before {
            let mut count = [0; 8];
            // It fails only if a caller has counted the event, and will find nothing.
            let _ =
                preadv2(&self.counter, &mut [IoSliceMut::new(&mut count)], u64::MAX, ReadWriteFlags::NOWAIT);
        }
    }
}

impl State {
    /// Informs all contexts of a device.
    pub(crate) fn tell_device(&mut self, device: usize, kind: u32, subject: Subject) {
        for context in self.contexts.values_mut().filter(|context| context.device == device) {
            context.events.push(AsyncEvent { kind, subject });
        }
    }

    pub(crate) fn tell(&mut self, context: u32, kind: u32, subject: Subject) {
        if let Some(context) = self.contexts.get_mut(&context) {
            context.events.push(AsyncEvent { kind, subject });
        }
    }

    /// An object is gone: events about it that were not reported never will be.
    pub(crate) fn withdraw_events(&mut self, context: u32, handle: u32) {
        if let Some(context) = self.contexts.get_mut(&context) {
            context.events.withdraw(|event| event.subject.handle() == Some(handle));
        }
    }

    pub(crate) fn acknowledge(&mut self, handle: u32, count: u32) {
        let left = self.unacknowledged.entry(handle).or_default();
        assert!(*left >= count, "more events are acknowledged than were taken");
        *left -= count;
    }
}
