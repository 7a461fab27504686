//! One type over all fabrics, for the layers above. It passes the contract on (W1 to W7).

use crate::counters::worker::LaneRoute;
use crate::fabric::shm::{ShmEndpoint, ShmWriter};
#[cfg(all(test, not(loom)))]
use crate::fabric::sim::{SimEndpoint, SimWriter};
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
    /// Of another node of a test.
    #[cfg(all(test, not(loom)))]
    Simulated(SimWriter),
}

/// The same call for each fabric.
macro_rules! with_writer {
    ($link:expr, $writer:ident => $call:expr) => {
        match $link {
            Link::Process($writer) => $call,
            Link::Shm($writer) => $call,
            Link::Tcp($writer) => $call,
            Link::Verbs($writer) => $call,
            #[cfg(all(test, not(loom)))]
            Link::Simulated($writer) => $call,
        }
    };
}

impl Link {
    /// The kind of route that this is to another worker.
    pub(crate) fn route(&self) -> LaneRoute {
        match self {
            Self::Process(_) => LaneRoute::Process,
            Self::Shm(_) => LaneRoute::Shm,
            Self::Tcp(_) => LaneRoute::Tcp,
            Self::Verbs(_) => LaneRoute::Verbs,
            #[cfg(all(test, not(loom)))]
            Self::Simulated(_) => LaneRoute::Shm,
        }
    }
}

impl Fabric for Link {
    #[inline(always)]
    // SAFETY: the trait's contract, which the caller keeps.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        // SAFETY: guaranteed by the caller.
        with_writer!(self, writer => unsafe { writer.write(slot, header, body) })
    }

    #[inline(always)]
    fn prepare(&self, slot: usize, words: usize) {
        with_writer!(self, writer => writer.prepare(slot, words));
    }

    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        with_writer!(self, writer => writer.send(fragment))
    }

    fn has_room(&self) -> bool {
        with_writer!(self, writer => writer.has_room())
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
    /// To all nodes of a test.
    #[cfg(all(test, not(loom)))]
    Simulated(SimEndpoint),
}

/// The same call for each fabric.
macro_rules! with_endpoint {
    ($link:expr, $endpoint:ident => $call:expr) => {
        match $link {
            LinkEndpoint::Shm($endpoint) => $call,
            LinkEndpoint::Tcp($endpoint) => $call,
            LinkEndpoint::Verbs($endpoint) => $call,
            #[cfg(all(test, not(loom)))]
            LinkEndpoint::Simulated($endpoint) => $call,
        }
    };
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
            #[cfg(all(test, not(loom)))]
            Self::Simulated(_) => "a node of its test",
        }
    }
}

impl Endpoint for LinkEndpoint {
    type Fabric = Link;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        with_endpoint!(self, endpoint => endpoint.register(lane))
    }

    fn connect(&self, lane: Lane) -> Link {
        match self {
            Self::Shm(endpoint) => Link::Shm(endpoint.connect(lane)),
            Self::Tcp(endpoint) => Link::Tcp(endpoint.connect(lane)),
            Self::Verbs(endpoint) => Link::Verbs(endpoint.connect(lane)),
            #[cfg(all(test, not(loom)))]
            Self::Simulated(endpoint) => Link::Simulated(endpoint.connect(lane)),
        }
    }

    #[inline]
    fn flush(&self) -> io::Result<()> {
        with_endpoint!(self, endpoint => endpoint.flush())
    }

    #[inline]
    fn poll(&self, told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        with_endpoint!(self, endpoint => endpoint.poll(told))
    }

    #[inline(always)]
    fn has_arrivals(&self) -> bool {
        with_endpoint!(self, endpoint => endpoint.has_arrivals())
    }

    #[inline]
    fn unsent(&self) -> usize {
        with_endpoint!(self, endpoint => endpoint.unsent())
    }

    fn descriptor(&self) -> Option<RawFd> {
        with_endpoint!(self, endpoint => endpoint.descriptor())
    }

    fn arm(&self) -> io::Result<()> {
        with_endpoint!(self, endpoint => endpoint.arm())
    }
}
