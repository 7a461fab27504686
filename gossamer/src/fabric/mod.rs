//! How the memory of a lane is written from the other side.
//!
//! A fabric has one job: a *one-sided write* of a batch into a slot of the peer's lane memory. Slots, batching,
//! responses, callbacks and flow control are written once above it, in `lane`.
//!
//! Contract of every fabric
//! - W1: a peer that reads the header word of a slot and finds the sequence of a write also finds all of that
//!   write's body (the header lands last, or can be told from a torn one).
//! - W2: writes into one slot land in the order they were made. Across slots no order is promised.
//! - W3: a write never blocks and never fails towards its caller; a lost peer is reported by `Endpoint::poll` or `flush`.
//! - W4: when a write returns, its body is the caller's again: what the fabric still needs, it has copied or sent.
//! - W5: what is registered stays where it is until the endpoints of both sides are gone.
//! - W6: on a lane between processes all bytes of a body are initialised; and each is a part of what its writer sends there, or zero.
//!   Inside a process words may hold values with their padding.

pub(crate) mod bulk;
pub(crate) mod cable;
#[cfg(all(test, not(loom)))]
mod conformance;
pub(crate) mod link;
mod memory;
pub(crate) mod shm;
#[cfg(all(test, not(loom)))]
pub(crate) mod sim;
pub(crate) mod tcp;

pub(crate) use memory::{FAR_SLOTS, SLOTS, SlotMemory};

use crate::wire::refusal::Malformed;
use crate::wire::word::Word;
use std::io;
use std::sync::Arc;

/// Slots of one direction of a lane, by the numbers of its two workers among all: their name at both ends, whatever the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    pub(crate) reader: usize,
    pub(crate) writer: usize,
    pub(crate) slots: Slots,
}

impl Lane {
    /// The request slots of the lane between two workers.
    pub(crate) fn requests(client: usize, trustee: usize) -> Self {
        Self { reader: trustee, writer: client, slots: Slots::Requests }
    }

    /// Its response slots.
    pub(crate) fn responses(client: usize, trustee: usize) -> Self {
        Self { reader: client, writer: trustee, slots: Slots::Responses }
    }
}

/// Which slots of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Slots {
    Requests,
    Responses,
}

/// This side of what joins two nodes: it makes lane memory here writable from there, and finds the way to what is there.
///
/// Whatever a fabric needs to know for that (a place in shared memory, an address with its remote key) the two sides exchange
/// when they make their endpoints, for all lanes that there can be. So either side takes a lane into use alone, without waiting.
pub(crate) trait Endpoint {
    /// The way to slots of the peer.
    type Fabric: Fabric;

    /// Slots of this node which the peer may write from now on (W5). The same ones for the same lane.
    fn register(&self, lane: Lane) -> Arc<SlotMemory>;

    /// The way to slots that the peer has registered, or will have before it reads them.
    fn connect(&self, lane: Lane) -> Self::Fabric;

    /// Has what was written since the last call go out. Called once a turn of the worker.
    ///
    /// # Errors
    /// If the peer is lost.
    fn flush(&self) -> io::Result<()>;

    /// Takes what has completed: the peer's writes, where they do not land by themselves, and the ends of our own, where a
    /// fabric has to hear of them. Whether anything had.
    ///
    /// # Errors
    /// If the peer is lost; `InvalidData`, with a `Malformed`, if it has sent what no node of this program sends.
    fn poll(&self, told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool>;
}

/// What `Endpoint::poll` tells.
pub(crate) enum Event<'a> {
    /// Something has landed for a worker of this node, which may be asleep.
    Landed(usize),
    /// It is the first of the requests of a lane, which nobody here has registered.
    Lane(Lane, Arc<SlotMemory>),
    /// Bytes of a value that is too large for a slot.
    Piece { writer: usize, piece: tcp::Piece<'a> },
}

/// A way to write into the slots of one peer.
pub(crate) trait Fabric {
    /// Writes `body`, then `header`, into a slot of the peer's memory (W1).
    ///
    /// # Safety
    /// The caller is the slot's only writer, and its reader is done with what was in it before: the lane
    /// protocol's L1 and L2 (`lane/README.md`). W6.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]);

    /// Hints that about `words` of a slot will be written next.
    fn prepare(&self, slot: usize, words: usize);
}
