//! Which party owns which blocks: the state of a ring, in its own memory, the same for every pump and every way of
//! faulting.
//!
//! A ring has a *producer* and a *consumer*. Inside a machine these are the sender and the receiver themselves. Between
//! machines each end has a ring, and its pump is the other party there: the sender's consumer, the receiver's producer.
//!
//! ```text
//!   blocks   0 … released … written … released + slots …
//!            gone | consumer's | producer's | not yet
//! ```
//!
//! Block *b* lies in slot *b mod slots*.
//!
//! Invariants
//! - U3: the producer touches block *b* only while `written <= b < released + slots`, the consumer only while `released <= b <
//!   written`; `written` is the producer's to raise and `released` the consumer's. So a slot is one party's at a time. A consumer
//!   that skips blocks releases them in advance: `released` may pass `written`. Then there is room for several blocks of one slot,
//!   of which a producer with several threads touches one at a time: one below `written + slots`.
//!   The bytes of a block below `flushed` are both parties' already before it is handed over: the producer writes them no more, and
//!   the consumer may read them. So a byte is one party's to change at a time.
//! - U4: the label of a slot is set by the producer when it takes a block, and by U3 stays until the consumer has released that.
//!   A block below `written` whose slot has another label was passed over by the producer: it is a hole, and has no memory.
//! - U5: a party in another process has proven the key of the stream, is of this user unless nothing but memory is allowed, and runs this
//!   library, which obeys U3 and has no mapping in a window of what it has handed over. A reference into a slot relies on that: shared
//!   memory cannot enforce it.

use crate::counters::trace::{self, EventKind, TraceEvent};
use crate::stream::blocks::peer::Peer;
use crate::stream::error::End;
use crate::stream::geometry::MOST_SLOTS;
use crate::stream::{Error, Geometry};
use crate::sys::sync::futex;
use crate::transport::silence::{LOOK, Silence};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// No more blocks follow.
const ENDED: u32 = 1;
/// The consumer has all.
const TAKEN: u32 = 2;
/// The producer's side knows it.
const SETTLED: u32 = 4;

/// The state of a ring.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Flow {
    /// Changes with everything else: the word that waiters sleep on.
    wakeups: AtomicU32,
    /// How many sleep on it, possibly including some that died there.
    sleepers: AtomicU32,
    progress: AtomicU32,
    written: AtomicU64,
    released: AtomicU64,
    /// Bytes.
    flushed: AtomicU64,
    /// The length in bytes, plus one; zero while it is not known.
    length: AtomicU64,
    /// The first failure, as a number; zero if there is none.
    failure: AtomicU64,
    /// The block of each slot, plus one.
    labels: [AtomicU64; MOST_SLOTS],
}

/// What ends a stream early, in a form that can be told to another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    PeerLost,
    SenderAborted,
    ReceiverAborted,
    Timeout,
    Protocol,
    /// In this block.
    Checksum(u64),
    /// By RDMA: the status of a completion, or zero.
    Rdma(u32),
    /// Data arrived that the other end did not seal.
    Tampered,
}

impl Failure {
    pub(crate) fn aborted_by(end: End) -> Self {
        match end {
            End::Sender => Self::SenderAborted,
            End::Receiver => Self::ReceiverAborted,
        }
    }

    pub(crate) fn to_number(self) -> u64 {
        match self {
            Self::PeerLost => 1,
            Self::SenderAborted => 2,
            Self::ReceiverAborted => 3,
            Self::Timeout => 4,
            Self::Protocol => 5,
            Self::Checksum(block) => 6 | block << 8,
            Self::Rdma(status) => 7 | u64::from(status) << 8,
            Self::Tampered => 8,
        }
    }

    pub(crate) fn from_number(number: u64) -> Option<Self> {
        Some(match number & 0xff {
            0 => return None,
            1 => Self::PeerLost,
            2 => Self::SenderAborted,
            3 => Self::ReceiverAborted,
            4 => Self::Timeout,
            6 => Self::Checksum(number >> 8),
            7 => Self::Rdma((number >> 8) as u32),
            8 => Self::Tampered,
            _ => Self::Protocol,
        })
    }
}

impl Flow {
    pub(crate) const fn new() -> Self {
        Self {
            wakeups: AtomicU32::new(0),
            sleepers: AtomicU32::new(0),
            progress: AtomicU32::new(0),
            written: AtomicU64::new(0),
            released: AtomicU64::new(0),
            flushed: AtomicU64::new(0),
            length: AtomicU64::new(0),
            failure: AtomicU64::new(0),
            labels: [const { AtomicU64::new(0) }; MOST_SLOTS],
        }
    }

    /// Blocks below this are the consumer's, or gone.
    pub(crate) fn written(&self) -> u64 {
        // Acquire: pairs with the Release in `hand_over`: who sees a block as written sees its bytes and its label.
        self.written.load(Ordering::Acquire)
    }

    /// Blocks below this are gone.
    pub(crate) fn released(&self) -> u64 {
        // Acquire: pairs with the Release in `release`: the consumer's last look is before the producer's next write.
        self.released.load(Ordering::Acquire)
    }

    /// Whether the producer may touch a block that it has not handed over (U3).
    pub(crate) fn has_room_for(&self, block: u64, geometry: &Geometry) -> bool {
        block < self.released().saturating_add(geometry.slots() as u64)
    }

    /// The producer takes a block (U4).
    pub(crate) fn label(&self, block: u64, geometry: &Geometry) {
        // Relaxed: ordered by `hand_over` for the consumer; the producer's own threads take turns.
        self.label_of(block, geometry).store(block + 1, Ordering::Relaxed);
    }

    /// Whether a block has memory: its producer has touched it.
    pub(crate) fn is_labelled(&self, block: u64, geometry: &Geometry) -> bool {
        // Relaxed: as above.
        self.label_of(block, geometry).load(Ordering::Relaxed) == block + 1
    }

    fn label_of(&self, block: u64, geometry: &Geometry) -> &AtomicU64 {
        &self.labels[(block % geometry.slots() as u64) as usize]
    }

    /// The first block from `block` on, below `end`, that has memory; or else `end`.
    pub(crate) fn next_labelled(&self, block: u64, end: u64, geometry: &Geometry) -> u64 {
        // Relaxed: as above.
        let labels = self.labels[..geometry.slots()].iter().map(|label| label.load(Ordering::Relaxed));
        labels
            .filter_map(|label| label.checked_sub(1))
            .filter(|has| (block..end).contains(has))
            .min()
            .unwrap_or(end)
    }

    /// The producer gives all blocks below `blocks` to the consumer.
    pub(crate) fn hand_over(&self, blocks: u64) {
        // Release: pairs with the Acquire in `written`.
        let before = self.written.fetch_max(blocks, Ordering::Release);
        self.trace(EventKind::BlocksHandedOver, before, blocks);
        self.wake_all();
    }

    /// All bytes below this may be read, whether or not their block was handed over.
    pub(crate) fn flushed(&self) -> u64 {
        // Acquire: pairs with the Release in `flush`: who sees it sees these bytes and the label of their block.
        self.flushed.load(Ordering::Acquire)
    }

    /// The producer writes nothing below `bytes` any more, of which all blocks but the last were handed over.
    pub(crate) fn flush(&self, bytes: u64) {
        // Release: pairs with the Acquire in `flushed`.
        self.flushed.fetch_max(bytes, Ordering::Release);
        self.wake_all();
    }

    /// The bytes from `offset` on, in its block, that the consumer may read, as far as the stream goes.
    pub(crate) fn readable(&self, offset: u64, geometry: &Geometry) -> u64 {
        let block = geometry.block_of(offset);
        let end = if self.written() > block { u64::MAX } else { self.flushed() };
        // Behind the others: a block that is a part of one is handed over once the length is known.
        end.min(self.end_of(block, geometry)).saturating_sub(offset)
    }

    /// Where a block of the stream ends, as far as that is known.
    pub(crate) fn end_of(&self, block: u64, geometry: &Geometry) -> u64 {
        geometry.start_of(block + 1).min(self.length().unwrap_or(u64::MAX))
    }

    /// The consumer gives up all blocks below `blocks`.
    pub(crate) fn release(&self, blocks: u64) {
        // Release: pairs with the Acquire in `released`.
        let before = self.released.fetch_max(blocks, Ordering::Release);
        self.trace(EventKind::BlocksReleased, before, blocks);
        self.wake_all();
    }

    /// Records an event, if there is a trace and something changed.
    #[inline]
    fn trace(&self, kind: EventKind, before: u64, blocks: u64) {
        if let Some(ring) = trace::outside().filter(|_| blocks > before) {
            let stream = std::ptr::from_ref(self).addr() >> 6;
            ring.push(TraceEvent { peer: stream as u32, number: blocks, ..TraceEvent::now(kind) });
        }
    }

    /// The length is known: set at the latest before the last block, which may be partial, is handed over.
    pub(crate) fn set_length(&self, length: u64) {
        // Release: pairs with the Acquire in `length`.
        self.length.store(length + 1, Ordering::Release);
        self.wake_all();
    }

    /// The length, once it is known.
    pub(crate) fn length(&self) -> Option<u64> {
        // Acquire: pairs with the Release in `set_length`.
        self.length.load(Ordering::Acquire).checked_sub(1)
    }

    /// The producer has handed over all there is.
    pub(crate) fn end(&self) {
        // Release: pairs with the Acquire in `is_ended`.
        self.progress.fetch_or(ENDED, Ordering::Release);
        self.wake_all();
    }

    pub(crate) fn is_ended(&self) -> bool {
        // Acquire: pairs with the Release in `end`: who sees it sees all that was handed over.
        self.progress.load(Ordering::Acquire) & ENDED != 0
    }

    /// The consumer has all.
    pub(crate) fn take(&self) {
        // Release: pairs with the Acquire in `is_taken`.
        self.progress.fetch_or(TAKEN, Ordering::Release);
        self.wake_all();
    }

    pub(crate) fn is_taken(&self) -> bool {
        // Acquire: pairs with the Release in `take`.
        self.progress.load(Ordering::Acquire) & TAKEN != 0
    }

    /// The pump has told the sender that the receiver has all.
    pub(crate) fn settle(&self) {
        // Release: pairs with the Acquire in `is_settled`.
        self.progress.fetch_or(SETTLED, Ordering::Release);
        self.wake_all();
    }

    pub(crate) fn is_settled(&self) -> bool {
        // Acquire: pairs with the Release in `settle`.
        self.progress.load(Ordering::Acquire) & SETTLED != 0
    }

    /// Ends the stream early, unless something else has, or everything is done.
    pub(crate) fn fail(&self, failure: Failure) {
        if !self.is_taken() {
            // AcqRel: one failure is the first; pairs with the Acquire in `failure`.
            let _first =
                self.failure.compare_exchange(0, failure.to_number(), Ordering::AcqRel, Ordering::Acquire);
        }
        self.wake_all();
    }

    pub(crate) fn failure(&self) -> Option<Failure> {
        // Acquire: pairs with the exchange in `fail`.
        Failure::from_number(self.failure.load(Ordering::Acquire))
    }

    /// The failure as users see it, unless the ring has more details. Allocates nothing.
    pub(crate) fn error(&self, failure: Failure, geometry: &Geometry) -> Error {
        let handed_over = geometry.start_of(self.written()).max(self.flushed());
        let at = handed_over.min(self.length().unwrap_or(u64::MAX));
        match failure {
            Failure::PeerLost => Error::PeerLost { at },
            Failure::SenderAborted => Error::Aborted { by: End::Sender, at },
            Failure::ReceiverAborted => Error::Aborted { by: End::Receiver, at },
            Failure::Timeout => Error::Timeout { at },
            Failure::Protocol => Error::Protocol { at },
            Failure::Checksum(block) => Error::Checksum { at: geometry.start_of(block) },
            Failure::Rdma(_) => Error::Rdma { at, why: String::new() },
            Failure::Tampered => Error::Tampered { at },
        }
    }

    /// Wakes all waiters, which look again.
    pub(crate) fn wake_all(&self) {
        // SeqCst, both: with those in `sleep`: either this sees the sleeper, or it sees this count and what was changed before.
        self.wakeups.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            futex::wake_all(self.wakeups.as_ptr());
        }
    }

    /// For tests, as a hostile process could do: forgets how many sleep.
    #[cfg(test)]
    pub(crate) fn lose_sleepers(&self) -> u32 {
        // Relaxed: nothing depends on it.
        self.sleepers.swap(0, Ordering::Relaxed)
    }

    /// Wakes all waiters, even if none are counted.
    pub(crate) fn wake_unasked(&self) {
        // SeqCst: as in `wake_all`.
        self.wakeups.fetch_add(1, Ordering::SeqCst);
        futex::wake_all(self.wakeups.as_ptr());
    }

    /// Sleeps until `ready`, or until the peer is gone. Neither allocates nor locks: it is also called in signal
    /// handlers.
    ///
    /// # Errors
    /// The failure of the stream, once there is one and it is not ready; `Timeout` after `patience`.
    pub(crate) fn wait(
        &self,
        peer: &Peer,
        patience: Option<Duration>,
        ready: impl Fn(&Self) -> bool,
    ) -> Result<(), Failure> {
        if ready(self) {
            return Ok(());
        }
        peer.enter();
        // SeqCst: as in `wake_all`.
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let outcome = self.sleep(peer, patience, ready);
        peer.leave();
        // Relaxed: one too many only costs a call.
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
        outcome
    }

    fn sleep(
        &self,
        peer: &Peer,
        patience: Option<Duration>,
        ready: impl Fn(&Self) -> bool,
    ) -> Result<(), Failure> {
        let mut silence = Silence::new(Instant::now());
        loop {
            // SeqCst: with that in `wake_all`. Before the check, so that a later change is noticed: the word is then
            // no longer `seen`.
            let seen = self.wakeups.load(Ordering::SeqCst);
            if ready(self) {
                return Ok(());
            }
            if let Some(failure) = self.failure() {
                return Err(failure);
            }
            if peer.is_gone() {
                return if ready(self) { Ok(()) } else { Err(Failure::PeerLost) };
            }
            let left = patience.map(|patience| patience.saturating_sub(silence.lasted(Instant::now())));
            if left == Some(Duration::ZERO) {
                self.fail(Failure::Timeout);
                // None if all was taken: such a stream cannot fail any more, but nobody waits beyond their patience.
                let failure = self.failure().unwrap_or(Failure::Timeout);
                return if ready(self) { Ok(()) } else { Err(failure) };
            }
            // Timed out or not, it looks again.
            let _timed_out = futex::wait(self.wakeups.as_ptr(), seen, left.map(|left| left.min(LOOK)));
        }
    }
}
