//! The receiver's pump: produces into its ring what it receives.
#![expect(unsafe_code, reason = "blocks are received into their slots")]

use crate::stream::Error;
use crate::stream::blocks::flow::{Failure, Flow};
use crate::stream::blocks::ring::Ring;
use crate::stream::geometry::LONGEST;
use crate::stream::pump::frame::{PumpFrame, malformed};
use crate::stream::pump::order::Order;
use crate::stream::pump::{Pump, lost, start};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// What the threads of all connections share.
struct Receiving {
    ring: Arc<Ring>,
    arrived: Mutex<Received>,
}

struct Received {
    order: Order<Action>,
    /// Of all that came: offsets and hashes.
    digest: Xxh3,
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
    let receiving = Arc::new(Receiving { ring: Arc::clone(ring), arrived: Mutex::new(arrived) });
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
                Err(ReceiveError::Lost(error)) => lost(flow, &error),
                Err(ReceiveError::Failed(failure)) => {
                    flow.fail(failure);
                    pump.drain();
                }
            }
        })?;
    }
    start(move || receiving.answer(&mut answers))
}

enum ReceiveError {
    Lost(io::Error),
    Failed(Failure),
}

impl From<io::Error> for ReceiveError {
    fn from(error: io::Error) -> Self {
        Self::Lost(error)
    }
}

impl Receiving {
    fn arrived(&self) -> MutexGuard<'_, Received> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn receive_all(&self, pump: &mut impl Pump) -> Result<(), ReceiveError> {
        loop {
            if let Some(failure) = self.ring.flow().failure() {
                return Err(ReceiveError::Failed(failure));
            }
            match pump.receive()? {
                PumpFrame::Bytes { turn, offset, bytes, hash } => {
                    self.receive_bytes(pump, offset, bytes as usize, hash)?;
                    self.done(turn, Action::Bytes { offset, bytes, hash });
                }
                PumpFrame::Passed { turn, blocks } => self.done(turn, Action::Passed { blocks }),
                PumpFrame::End { turn, length, digest } => {
                    self.done(turn, Action::End { length, digest });
                    return Ok(());
                }
                PumpFrame::Leave => return Ok(()),
                PumpFrame::Abort { failure } => {
                    let failure = Failure::from_number(failure).unwrap_or(Failure::Protocol);
                    return Err(ReceiveError::Failed(failure));
                }
                PumpFrame::Credit { .. } | PumpFrame::Confirm { .. } => return Err(malformed().into()),
            }
        }
    }

    /// Receives bytes of a block into their place in its slot and checks them.
    fn receive_bytes(
        &self,
        pump: &mut impl Pump,
        offset: u64,
        bytes: usize,
        hash: u64,
    ) -> Result<(), ReceiveError> {
        let (flow, geometry) = (self.ring.flow(), &self.ring.geometry);
        let block = geometry.block_of(offset);
        let start = (offset - geometry.start_of(block)) as usize;
        let new = block >= flow.written() && offset >= flow.flushed();
        if !new || !flow.has_room_for(block, geometry) || bytes > geometry.block_bytes() - start {
            return Err(malformed().into());
        }
        // Once the receiver has passed blocks over, there is room for several of one slot: this connection waits for those that
        // bring the earlier ones. The earliest of all waits for none.
        let slots = geometry.slots() as u64;
        flow.wait(None, move |flow| block < flow.written().saturating_add(slots))
            .map_err(ReceiveError::Failed)?;
        flow.label(block, geometry);
        // SAFETY: the bytes lie in the block's slot: `offset` is in the block, so `start` is less than a block, and no more than
        // the rest of it comes (see above). U3: the slot is free, as the wait above has seen, and these bytes were neither handed
        // over nor flushed; each comes once (U5).
        let place = unsafe { std::slice::from_raw_parts_mut(self.ring.at(block).wrapping_add(start), bytes) };
        pump.receive_bytes(place)?;
        if xxh3_64(place) == hash { Ok(()) } else { Err(ReceiveError::Failed(Failure::Checksum(block))) }
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
            let waited = flow.wait(None, |flow| gone(flow) > told || flow.is_taken());
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
            let receiving = Receiving { ring: Arc::new(ring), arrived };
            receiving.done(0, Action::Passed { blocks: passed });
            let digest = receiving.arrived().digest.digest();
            receiving.done(1, Action::End { length, digest });
            assert_eq!(receiving.ring.flow().failure(), Some(Failure::Protocol), "{passed} {length}");
            assert!(!receiving.ring.flow().is_ended());
        }
    }
}
