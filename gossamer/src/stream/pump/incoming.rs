//! The receiver's pump: produces into its ring what it receives.
#![expect(unsafe_code, reason = "blocks are received into their slots")]

use crate::stream::Error;
use crate::stream::blocks::flow::{Failure, Flow};
use crate::stream::blocks::ring::Ring;
use crate::stream::geometry::LONGEST;
use crate::stream::pump::frame::{PumpFrame, malformed};
use crate::stream::pump::order::Order;
use crate::stream::pump::{Arrival, Pump, PumpError, lost, start};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// What the threads of all connections share.
struct Receiving {
    ring: Arc<Ring>,
    sealed: bool,
    arrived: Mutex<Received>,
}

struct Received {
    order: Order<Action>,
    /// Of all that came: offsets and hashes.
    digest: Xxh3,
}

/// Bytes of a block, as a frame says of them.
#[derive(Clone, Copy)]
struct BlockPart {
    turn: u64,
    offset: u64,
    bytes: u32,
    hash: u64,
}

/// What a frame means once its turn has come.
enum Action {
    Bytes { offset: u64, bytes: u32, hash: u64 },
    Passed { blocks: u64 },
    End { length: u64, digest: u64 },
}

/// Receives into a ring what comes over these connections.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn run<P: Pump>(ring: &Arc<Ring>, pumps: Vec<P>) -> Result<(), Error> {
    let arrived = Received { order: Order::new(), digest: Xxh3::new() };
    let sealed = pumps.iter().all(P::is_sealed);
    let receiving = Arc::new(Receiving { ring: Arc::clone(ring), sealed, arrived: Mutex::new(arrived) });
    let mut answers = Vec::new();
    for pump in &pumps {
        answers.push(pump.try_clone().map_err(Error::io("another handle of a connection"))?);
    }
    for mut pump in pumps {
        let receiving = Arc::clone(&receiving);
        start(move || {
            let flow = receiving.ring.flow();
            match receiving.receive_all(&mut pump) {
                Ok(()) => {}
                Err(PumpError::Lost(error)) => lost(flow, &error),
                Err(PumpError::Failed(failure)) => {
                    flow.fail(failure);
                    pump.drain();
                }
            }
        })?;
    }
    start(move || receiving.answer(&mut answers))
}

impl Receiving {
    fn arrived(&self) -> MutexGuard<'_, Received> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive_all(&self, pump: &mut impl Pump) -> Result<(), PumpError> {
        // What is under way, in the order in which it comes.
        let mut coming = VecDeque::new();
        loop {
            if let Some(failure) = self.ring.flow().failure() {
                return Err(PumpError::Failed(failure));
            }
            let frame = match pump.receive()? {
                Arrival::Frame(frame) => frame,
                Arrival::Bytes => {
                    self.check(coming.pop_front().ok_or_else(malformed)?)?;
                    continue;
                }
            };
            match frame {
                PumpFrame::Bytes { turn, offset, bytes, hash } => {
                    let part = BlockPart { turn, offset, bytes, hash };
                    if self.receive_part(pump, part, coming.is_empty())? {
                        self.check(part)?;
                    } else {
                        coming.push_back(part);
                    }
                }
                PumpFrame::Passed { turn, blocks } => self.done(turn, Action::Passed { blocks }),
                PumpFrame::End { turn, length, digest } => {
                    self.done(turn, Action::End { length, digest });
                    return Ok(());
                }
                PumpFrame::Leave => return Ok(()),
                PumpFrame::Abort { failure } => {
                    let failure = Failure::from_number(failure).unwrap_or(Failure::Protocol);
                    return Err(PumpError::Failed(failure));
                }
                PumpFrame::Credit { .. } | PumpFrame::Confirm { .. } => return Err(malformed().into()),
            }
        }
    }

    /// Receives bytes of a block into their place in its slot, or begins to. Returns whether they are there.
    fn receive_part(&self, pump: &mut impl Pump, part: BlockPart, is_alone: bool) -> Result<bool, PumpError> {
        let (flow, geometry) = (self.ring.flow(), &self.ring.geometry);
        let (block, start) = self.place_of(part);
        let bytes = part.bytes as usize;
        let new = block >= flow.written() && part.offset >= flow.flushed();
        if !new || !flow.has_room_for(block, geometry) || bytes > geometry.block_bytes() - start {
            return Err(malformed().into());
        }
        // Once the receiver has passed blocks over, there is room for several of one slot: this connection waits for those that
        // bring the earlier ones. The earliest of all waits for none.
        let slots = geometry.slots() as u64;
        let is_free = move |flow: &Flow| block < flow.written().saturating_add(slots);
        if !is_alone && !is_free(flow) {
            // It would wait for itself. A credit never allows it.
            return Err(malformed().into());
        }
        self.ring.wait(None, is_free).map_err(PumpError::Failed)?;
        flow.label(block, geometry);
        // SAFETY: the bytes lie in the block's slot: `start` is less than a block, and no more than the rest of it comes (see above). U3:
        // the slot is free, as the wait above has seen, and these bytes were neither handed over nor flushed; each comes once (U5).
        let slot = unsafe { std::slice::from_raw_parts_mut(self.ring.at(block).wrapping_add(start), bytes) };
        pump.receive_bytes(self.ring.offset_of(block) + start, slot)
    }

    /// The block of a part, and where in it the part begins.
    fn place_of(&self, part: BlockPart) -> (u64, usize) {
        let geometry = &self.ring.geometry;
        let block = geometry.block_of(part.offset);
        (block, (part.offset - geometry.start_of(block)) as usize)
    }

    /// Bytes are in their slot: it is their turn, if they are what was sent.
    fn check(&self, part: BlockPart) -> Result<(), PumpError> {
        let BlockPart { turn, offset, bytes, hash } = part;
        if self.sealed {
            // The pump has found that they are.
            self.done(turn, Action::Bytes { offset, bytes, hash });
            return Ok(());
        }
        let (block, start) = self.place_of(part);
        // SAFETY: as in `receive_part`; they are there, so nobody writes them any more.
        let place =
            unsafe { std::slice::from_raw_parts(self.ring.at(block).wrapping_add(start), bytes as usize) };
        if xxh3_64(place) != hash {
            return Err(PumpError::Failed(Failure::Checksum(block)));
        }
        self.done(turn, Action::Bytes { offset, bytes, hash });
        Ok(())
    }

    fn can_end_at(&self, length: u64) -> bool {
        let (flow, geometry) = (self.ring.flow(), &self.ring.geometry);
        flow.length().is_none_or(|known| known == length)
            && length <= LONGEST
            && geometry.blocks_of(length) >= flow.written()
    }

    fn done(&self, turn: u64, what: Action) {
        let mut arrived = self.arrived();
        let Received { order, digest: ours } = &mut *arrived;
        let flow = self.ring.flow();
        order.done(turn, what, |what| match what {
            Action::Bytes { offset, bytes, hash } => {
                ours.update(&offset.to_le_bytes());
                ours.update(&hash.to_le_bytes());
                let (block, end) = (self.ring.geometry.block_of(offset), offset.saturating_add(bytes.into()));
                if end == flow.end_of(block, &self.ring.geometry) {
                    flow.hand_over(block + 1);
                } else {
                    flow.flush(end);
                }
            }
            Action::Passed { blocks } => flow.hand_over(blocks),
            Action::End { length, .. } if !self.can_end_at(length) => flow.fail(Failure::Protocol),
            Action::End { length, digest } if digest == ours.digest() => {
                flow.set_length(length);
                flow.hand_over(self.ring.geometry.blocks_of(length));
                flow.end();
            }
            Action::End { .. } => flow.fail(Failure::Checksum(flow.written())),
        });
    }

    /// Tells the sender what has arrived and was given up, and that all was taken.
    fn answer(&self, pumps: &mut [impl Pump]) {
        let flow = self.ring.flow();
        // A receiver gives up in advance what it skips.
        let gone = |flow: &Flow| flow.released().min(flow.written());
        let mut told = 0;
        loop {
            let waited = self.ring.wait(None, |flow| gone(flow) > told || flow.is_taken());
            let failure = flow.failure().filter(|_| !flow.is_taken());
            let Some(first) = pumps.first_mut() else { return };
            let sent = if let Some(failure) = waited.err().or(failure) {
                return pumps.iter_mut().for_each(|pump| {
                    // If it cannot be sent, the end of the connection says enough.
                    let _sent = pump.send(PumpFrame::Abort { failure: failure.to_number() });
                    pump.hang_up();
                });
            } else if flow.is_taken() {
                let digest = self.arrived().digest.digest();
                let sent = first.send(PumpFrame::Confirm { digest });
                if sent.is_ok() {
                    return flow.settle();
                }
                sent
            } else {
                told = gone(flow);
                first.send(PumpFrame::Credit { released: told })
            };
            match sent {
                Ok(()) => {}
                // All is here, and the sender is gone: nobody is left to be told.
                Err(_) if flow.is_ended() => {
                    return flow.settle();
                }
                // What the sender said last tells why: its frames are still being read.
                Err(_) => return,
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::stream::Geometry;

    #[test]
    fn an_end_that_cannot_be_is_a_breach_of_the_protocol() {
        for (passed, length) in [(0, u64::MAX), (0, LONGEST + 1), (9, 5), (9, 8 * 4096)] {
            let ring = Ring::create(Geometry::new().block(4096).ahead(2)).unwrap();
            let arrived = Mutex::new(Received { order: Order::new(), digest: Xxh3::new() });
            let receiving = Receiving { ring: Arc::new(ring), sealed: false, arrived };
            receiving.done(0, Action::Passed { blocks: passed });
            let digest = receiving.arrived().digest.digest();
            receiving.done(1, Action::End { length, digest });
            assert_eq!(receiving.ring.flow().failure(), Some(Failure::Protocol), "{passed} {length}");
            assert!(!receiving.ring.flow().is_ended());
        }
    }
}
