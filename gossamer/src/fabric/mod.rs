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
//! - W6: on a lane between processes all bytes of a body are initialised; and each is part of what its writer sends, or
//!   zero. Inside a process words may hold values with their padding.
//! - W7: the fragments and rows that one worker sends to another arrive in the order in which they were sent. When a
//!   write that the same worker made after one of them has landed, the next `Endpoint::poll` of the reader tells of it,
//!   if none has before.

mod bodies;
pub(crate) mod choice;
#[cfg(all(test, not(loom)))]
mod conformance;
pub(crate) mod link;
mod memory;
pub(crate) mod shm;
#[cfg(all(test, not(loom)))]
pub(crate) mod sim;
#[cfg(all(test, loom))]
mod sleep_model;
pub(crate) mod tcp;
pub(crate) mod verbs;
#[cfg(all(test, not(loom)))]
pub(crate) mod watchdog;
#[cfg(all(test, not(loom)))]
mod within_process;

#[cfg(all(test, not(loom)))]
pub(crate) use memory::{FAR_SLOTS, SLOTS};
pub(crate) use memory::{FRAME_SLOTS, SlotMemory};

use crate::wire::refusal::Malformed;
use crate::wire::row::{Row, RowLayout};
use crate::wire::word::Word;
use std::io;
use std::os::fd::RawFd;
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

/// How many connections join the workers of two nodes of different machines: the `n`th has worker `n` of each side, modulo their
/// number, at its ends, and carries what worker `n` writes.
pub(crate) fn connections(ours: usize, theirs: usize) -> usize {
    ours.max(theirs)
}

/// Which slots of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub(crate) enum Slots {
    Requests,
    Responses,
}

/// Bytes of a large value that are sent at once.
pub(crate) const FRAGMENT_BYTES: usize = if cfg!(loom) { 8 } else { 64 * 1024 };

/// Some of the bytes of a value that is too large for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fragment<'a> {
    /// Names the value among all of its writer.
    pub(crate) ticket: u64,
    /// The row of which they are the next bytes.
    pub(crate) row: RowLayout,
    /// At most `FRAGMENT_BYTES`.
    pub(crate) bytes: &'a [u8],
}

/// Nothing was sent: so much is under way already that the rest has to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Busy;

/// One worker's end of what joins it to others: it makes local lane memory writable from there, and finds the way to
/// lane memory there.
///
/// When the two sides make their endpoints, they exchange whatever the fabric needs for that (a place in shared memory,
/// an address with its remote key), for all lanes that there can be. So either side can start to use a lane alone,
/// without waiting.
pub(crate) trait Endpoint {
    /// The way to slots of a peer.
    type Fabric: Fabric;

    /// Slots of this node that a peer may write from now on (W5). The same lane always gets the same slots.
    fn register(&self, lane: Lane) -> Arc<SlotMemory>;

    /// The way to slots that a peer has registered, or will have before it reads them.
    fn connect(&self, lane: Lane) -> Self::Fabric;

    /// Sends what was written since the last call. Called once a turn of the worker.
    ///
    /// # Errors
    /// If the peer is lost.
    fn flush(&self) -> io::Result<()>;

    /// Takes completions: the peers' writes, where they do not land by themselves, their fragments, and the completions
    /// of our own writes, where a fabric needs them. Returns whether there were any.
    ///
    /// # Errors
    /// If the peer is lost. `InvalidData`, with a `Malformed` if the peer has sent what no node of this program sends,
    /// or with a `Damage` if the data was changed on the way. In both cases nothing of it was landed.
    fn poll(&self, told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool>;

    /// Whether `poll` is sure to find something, as far as can be told without a system call.
    fn has_arrivals(&self) -> bool;

    /// Bytes that were written and wait to be sent.
    fn unsent(&self) -> usize;

    /// The descriptor that tells a sleeping worker that something has arrived, or can be sent again. Without one, the
    /// writer rings.
    fn descriptor(&self) -> Option<RawFd>;

    /// Makes the descriptor report what arrives from now on. Called by a worker that is about to sleep, before its last
    /// `poll`.
    ///
    /// # Errors
    /// If it cannot.
    fn arm(&self) -> io::Result<()>;
}

/// What `Endpoint::poll` tells.
pub(crate) enum Event<'a> {
    /// Something has landed for a worker of this node, which may be asleep.
    Landed(usize),
    /// A lane is in use, and nobody here has registered its requests.
    Lane(Lane, Arc<SlotMemory>),
    /// `writer` has sent a fragment to `reader`.
    Fragment { writer: usize, reader: usize, fragment: Fragment<'a> },
    /// `writer` has sent a whole row to `reader`, of the value with this ticket.
    Row { writer: usize, reader: usize, ticket: u64, row: Row },
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

    /// Sends some bytes of a large value to the worker that reads the slots (W7), which has to be rung for them, too. The
    /// bytes belong to the caller again when this returns. Never blocks, and never fails towards its caller.
    ///
    /// # Errors
    /// If too much is under way.
    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy>;

    /// Whether little enough is under way for another `send`.
    fn has_room(&self) -> bool;

    /// Whether a row of this many bytes can go whole, instead of being cut into fragments and copied.
    fn takes_rows_of(&self, _bytes: usize) -> bool {
        false
    }

    /// Sends a whole row of a large value to the worker that reads the slots, among the fragments (W7). The row is kept
    /// until that worker has taken it. There is room (`has_room`).
    ///
    /// # Errors
    /// The row: it has to go in fragments now.
    fn send_row(&self, _ticket: u64, row: Row) -> Result<(), Row> {
        Err(row)
    }
}
