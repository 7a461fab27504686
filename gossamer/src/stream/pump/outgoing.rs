//! The sender's pump: consumes its ring and sends what was in it.
#![expect(unsafe_code, reason = "blocks are sent from their slots")]

use crate::stream::blocks::flow::{Failure, Flow};
use crate::stream::blocks::produced::{Found, Produced};
use crate::stream::blocks::ring::Ring;
use crate::stream::pump::frame::PumpFrame;
use crate::stream::pump::{Arrival, Pump, PumpError, lost, start};
use crate::stream::{Error, Geometry};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// What the threads of all connections share.
struct Sending {
    ring: Arc<Ring>,
    sealed: bool,
    next: Mutex<Next>,
}

/// What is sent next.
struct Next {
    turn: u64,
    block: u64,
    /// Bytes of it that went already.
    sent: usize,
    /// Of all that was sent: offsets and hashes.
    digest: Xxh3,
    ended: bool,
}

impl Next {
    fn offset(&self, geometry: &Geometry) -> u64 {
        geometry.start_of(self.block) + self.sent as u64
    }

    fn go_to(&mut self, block: u64) {
        (self.block, self.sent) = (block, 0);
    }

    /// A frame whose turn is next.
    fn frame(&mut self, of: impl FnOnce(u64) -> PumpFrame) -> PumpFrame {
        self.turn += 1;
        of(self.turn - 1)
    }
}

/// Sends what comes into a ring over these connections.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn run<P: Pump>(ring: &Arc<Ring>, pumps: Vec<P>) -> Result<(), Error> {
    let next = Next { turn: 0, block: 0, sent: 0, digest: Xxh3::new(), ended: false };
    let sealed = pumps.iter().all(P::is_sealed);
    let sending = Arc::new(Sending { ring: Arc::clone(ring), sealed, next: Mutex::new(next) });
    for (index, mut pump) in pumps.into_iter().enumerate() {
        if index == 0 {
            let mut answers = pump.try_clone().map_err(Error::io("another handle of a connection"))?;
            let sending = Arc::clone(&sending);
            start(move || sending.hear(&mut answers))?;
        }
        let sending = Arc::clone(&sending);
        start(move || sending.send_all(&mut pump, index > 0))?;
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panics here ends its connections, and the other end with it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sending {
    /// Sends frames until the end. Only the first connection's receiver answers in between, to another thread.
    fn send_all(&self, pump: &mut impl Pump, hears: bool) {
        let sent = loop {
            let frame = match self.next() {
                Ok(frame) => frame,
                Err(failure) => {
                    let sent = pump.send(PumpFrame::Abort { failure: failure.to_number() });
                    pump.hang_up();
                    break sent;
                }
            };
            match self.send(pump, frame) {
                Ok(()) if matches!(frame, PumpFrame::End { .. } | PumpFrame::Leave) => return,
                Ok(()) => {}
                Err(error) => break Err(error),
            }
        };
        // What the receiver said last tells why.
        match sent {
            Err(_) if hears => self.hear(pump),
            Ok(()) if hears => pump.drain(),
            _ => {}
        }
    }

    /// Waits for the next frame that is to be sent.
    fn next(&self) -> Result<PumpFrame, Failure> {
        let (flow, geometry) = (self.ring.flow(), &self.ring.geometry);
        let next = &mut *lock(&self.next);
        if next.ended {
            return Ok(PumpFrame::Leave);
        }
        loop {
            let from = next.offset(geometry);
            let more = |flow: &Flow| flow.written() > next.block || flow.flushed() > from || flow.is_ended();
            self.ring.wait(None, more)?;
            if let Some(failure) = flow.failure() {
                return Err(failure);
            }
            let produced = Produced::now(flow);
            if produced.has(next.block) && from == flow.end_of(next.block, geometry) {
                next.go_to(next.block + 1);
            }
            let offset = next.offset(geometry);
            match produced.next(flow, next.block, offset, geometry) {
                Found::Bytes(bytes) => {
                    let bytes = bytes as usize;
                    let hash = if self.sealed { 0 } else { xxh3_64(self.bytes(offset, bytes)) };
                    next.digest.update(&offset.to_le_bytes());
                    next.digest.update(&hash.to_le_bytes());
                    next.sent += bytes;
                    return Ok(next.frame(|turn| PumpFrame::Bytes {
                        turn,
                        offset,
                        bytes: bytes as u32,
                        hash,
                    }));
                }
                Found::Hole(blocks) => {
                    next.go_to(blocks);
                    return Ok(next.frame(|turn| PumpFrame::Passed { turn, blocks }));
                }
                Found::End => {
                    next.ended = true;
                    let (length, digest) = (flow.length().unwrap_or_default(), next.digest.digest());
                    return Ok(next.frame(|turn| PumpFrame::End { turn, length, digest }));
                }
                Found::Nothing => {}
            }
        }
    }

    fn bytes(&self, offset: u64, bytes: usize) -> &[u8] {
        let geometry = &self.ring.geometry;
        let block = geometry.block_of(offset);
        let at = self.ring.at(block).wrapping_add((offset - geometry.start_of(block)) as usize);
        // SAFETY: U3: they were handed over or flushed, and are released by this very pump, once the receiver has given them up.
        unsafe { std::slice::from_raw_parts(at, bytes) }
    }

    fn send(&self, pump: &mut impl Pump, frame: PumpFrame) -> io::Result<()> {
        let PumpFrame::Bytes { offset, bytes, .. } = frame else { return pump.send(frame) };
        let given_up = self.ring.geometry.start_of(self.ring.flow().released());
        // SAFETY: U3: their slot is the producer's again when the block is released, which is when its credit comes.
        unsafe { pump.send_bytes(frame, self.bytes(offset, bytes as usize), given_up) }
    }

    /// The receiver may have all blocks below this. To it a last block that was flushed to the end is complete, though not yet handed
    /// over here.
    fn complete(&self) -> u64 {
        let (flow, geometry) = (self.ring.flow(), &self.ring.geometry);
        let length = flow.length().filter(|length| *length <= flow.flushed());
        length.map_or(0, |length| geometry.blocks_of(length)).max(flow.written())
    }

    /// What the receiver says.
    fn hear(&self, pump: &mut impl Pump) {
        let flow = self.ring.flow();
        let failure = loop {
            match pump.receive() {
                Ok(Arrival::Frame(frame)) => match frame {
                    // It has arrived, so nothing of it is read here any more.
                    PumpFrame::Credit { released } if released <= self.complete() => flow.release(released),
                    PumpFrame::Confirm { digest } if digest == lock(&self.next).digest.digest() => {
                        return flow.take();
                    }
                    PumpFrame::Abort { failure } => {
                        break Failure::from_number(failure).unwrap_or(Failure::Protocol);
                    }
                    _ => break Failure::Protocol,
                },
                Ok(Arrival::Bytes) => break Failure::Protocol,
                Err(PumpError::Lost(error)) => return lost(flow, &error),
                Err(PumpError::Failed(failure)) => break failure,
            }
        };
        flow.fail(failure);
        pump.drain();
    }
}
