//! One type over all fabrics, for the layers above. It passes the contract on (W1 to W7).

use crate::counters::worker::LaneRoute;
use crate::fabric::shm::{ShmEndpoint, ShmWriter};
use crate::fabric::tcp::{TcpEndpoint, TcpWriter};
use crate::fabric::verbs::link::endpoint::{VerbsEndpoint, VerbsWriter};
use crate::fabric::{Busy, Endpoint, Event, Fabric, Fragment, Lane, SlotMemory};
use crate::wire::refusal::Malformed;
use crate::wire::row::Row;
use crate::wire::word::Word;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

/// The way to the slots of a worker.
pub(crate) enum Link {
    /// Of this process.
    Process(Arc<SlotMemory>),
    /// Of another process of this machine.
    Shm(ShmWriter),
    /// Of another machine, by TCP.
    Tcp(TcpWriter),
    /// Of another machine, by RDMA.
    Verbs(VerbsWriter),
}

impl Link {
    /// The kind of route that this is to another worker.
    pub(crate) fn route(&self) -> LaneRoute {
        match self {
            Self::Process(_) => LaneRoute::Process,
            Self::Shm(_) => LaneRoute::Shm,
            Self::Tcp(_) => LaneRoute::Tcp,
            Self::Verbs(_) => LaneRoute::Verbs,
        }
    }
}

impl Fabric for Link {
    #[inline(always)]
    // SAFETY: the trait's contract, which the caller keeps.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        match self {
            // SAFETY: guaranteed by the caller.
            Self::Process(memory) => unsafe { memory.write(slot, header, body) },
            // SAFETY: guaranteed by the caller.
            Self::Shm(writer) => unsafe { writer.write(slot, header, body) },
            // SAFETY: guaranteed by the caller.
            Self::Tcp(writer) => unsafe { writer.write(slot, header, body) },
            // SAFETY: guaranteed by the caller.
            Self::Verbs(writer) => unsafe { writer.write(slot, header, body) },
        }
    }

    #[inline(always)]
    fn prepare(&self, slot: usize, words: usize) {
        match self {
            Self::Process(memory) => memory.prepare(slot, words),
            Self::Shm(writer) => writer.prepare(slot, words),
            Self::Tcp(writer) => writer.prepare(slot, words),
            Self::Verbs(writer) => writer.prepare(slot, words),
        }
    }

    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        match self {
            Self::Process(memory) => memory.send(fragment),
            Self::Shm(writer) => writer.send(fragment),
            Self::Tcp(writer) => writer.send(fragment),
            Self::Verbs(writer) => writer.send(fragment),
        }
    }

    fn has_room(&self) -> bool {
        match self {
            Self::Process(memory) => memory.has_room(),
            Self::Shm(writer) => writer.has_room(),
            Self::Tcp(writer) => writer.has_room(),
            Self::Verbs(writer) => writer.has_room(),
        }
    }

    fn takes_rows_of(&self, bytes: usize) -> bool {
        matches!(self, Self::Verbs(writer) if writer.takes_rows_of(bytes))
    }

    fn send_row(&self, ticket: u64, row: Row) -> Result<(), Row> {
        match self {
            Self::Verbs(writer) => writer.send_row(ticket, row),
            _ => Err(row),
        }
    }
}

/// A worker's endpoint to other nodes.
pub(crate) enum LinkEndpoint {
    /// To all nodes of this machine.
    Shm(ShmEndpoint),
    /// To one node of another machine, by TCP.
    Tcp(TcpEndpoint),
    /// To all nodes that one RDMA device reaches.
    Verbs(VerbsEndpoint),
}

impl LinkEndpoint {
    /// Whether it takes a system call to see if something has arrived, and one to send anything.
    #[inline(always)]
    pub(crate) fn is_socket(&self) -> bool {
        matches!(self, Self::Tcp(_))
    }

    /// The nodes at its other ends, if it has several.
    pub(crate) fn reaches(&self) -> &'static str {
        match self {
            Self::Shm(_) => "a node of its machine",
            Self::Tcp(_) => "a node of another machine",
            Self::Verbs(_) => "a node that it reaches by RDMA",
        }
    }
}

impl Endpoint for LinkEndpoint {
    type Fabric = Link;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        match self {
            Self::Shm(endpoint) => endpoint.register(lane),
            Self::Tcp(endpoint) => endpoint.register(lane),
            Self::Verbs(endpoint) => endpoint.register(lane),
        }
    }

    fn connect(&self, lane: Lane) -> Link {
        match self {
            Self::Shm(endpoint) => Link::Shm(endpoint.connect(lane)),
            Self::Tcp(endpoint) => Link::Tcp(endpoint.connect(lane)),
            Self::Verbs(endpoint) => Link::Verbs(endpoint.connect(lane)),
        }
    }

    #[inline]
    fn flush(&self) -> io::Result<()> {
        match self {
            Self::Shm(endpoint) => endpoint.flush(),
            Self::Tcp(endpoint) => endpoint.flush(),
            Self::Verbs(endpoint) => endpoint.flush(),
        }
    }

    #[inline]
    fn poll(&self, told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        match self {
            Self::Shm(endpoint) => endpoint.poll(told),
            Self::Tcp(endpoint) => endpoint.poll(told),
            Self::Verbs(endpoint) => endpoint.poll(told),
        }
    }

    #[inline(always)]
    fn has_arrivals(&self) -> bool {
        match self {
            Self::Shm(endpoint) => endpoint.has_arrivals(),
            Self::Tcp(endpoint) => endpoint.has_arrivals(),
            Self::Verbs(endpoint) => endpoint.has_arrivals(),
        }
    }

    #[inline]
    fn unsent(&self) -> usize {
        match self {
            Self::Shm(endpoint) => endpoint.unsent(),
            Self::Tcp(endpoint) => endpoint.unsent(),
            Self::Verbs(endpoint) => endpoint.unsent(),
        }
    }

    fn descriptor(&self) -> Option<RawFd> {
        match self {
            Self::Shm(endpoint) => endpoint.descriptor(),
            Self::Tcp(endpoint) => endpoint.descriptor(),
            Self::Verbs(endpoint) => endpoint.descriptor(),
        }
    }

    fn arm(&self) -> io::Result<()> {
        match self {
            Self::Shm(endpoint) => endpoint.arm(),
            Self::Tcp(endpoint) => endpoint.arm(),
            Self::Verbs(endpoint) => endpoint.arm(),
        }
    }
}
