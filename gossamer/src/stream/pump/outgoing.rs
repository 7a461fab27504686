//! The sender's pump: consumes its ring and sends what was in it.
#![expect(unsafe_code, reason = "blocks are sent from their slots")]

use crate::stream::Error;
use crate::stream::flow::Failure;
use crate::stream::pump::frame::Frame;
use crate::stream::pump::{Pump, lost, start};
use crate::stream::ring::Ring;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// What the threads of all connections share.
struct Outgoing {
    ring: Arc<Ring>,
    next: Mutex<Next>,
}

/// What is sent next.
struct Next {
    turn: u64,
    block: u64,
    /// Of all blocks: their numbers and hashes.
    digest: Xxh3,
    ended: bool,
}

/// Sends what comes into a ring over these connections.
///
/// # Errors
/// If no thread can be started.
pub(crate) fn run<P: Pump>(ring: &Arc<Ring>, pumps: Vec<P>) -> Result<(), Error> {
    let next = Next { turn: 0, block: 0, digest: Xxh3::new(), ended: false };
    let outgoing = Arc::new(Outgoing { ring: Arc::clone(ring), next: Mutex::new(next) });
    for (index, mut pump) in pumps.into_iter().enumerate() {
        if index == 0 {
            let mut answers = pump.try_clone().map_err(Error::io("another handle of a connection"))?;
            let outgoing = Arc::clone(&outgoing);
            start(move || outgoing.hear(&mut answers))?;
        }
        let outgoing = Arc::clone(&outgoing);
        start(move || outgoing.send_all(&mut pump, index > 0))?;
    }
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panics here ends its connections, and the other end with it.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outgoing {
    /// Sends frames until the end. Only the first connection's receiver answers in between, to another thread.
    fn send_all(&self, pump: &mut impl Pump, hears: bool) {
        let sent = loop {
            let frame = match self.next() {
                Ok(frame) => frame,
                Err(failure) => {
                    let sent = pump.send(Frame::Abort { failure: failure.to_number() });
                    pump.hang_up();
                    break sent;
                }
            };
            match self.send(pump, frame) {
                Ok(()) if matches!(frame, Frame::End { .. } | Frame::Leave) => return,
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
    fn next(&self) -> Result<Frame, Failure> {
        let (flow, geometry) = (self.ring.flow(), &self.ring.geometry);
        let mut next = lock(&self.next);
        if next.ended {
            return Ok(Frame::Leave);
        }
        flow.wait(None, |flow| flow.written() > next.block || flow.is_ended())?;
        if let Some(failure) = flow.failure() {
            return Err(failure);
        }
        // Before `written`, which does not change behind it.
        let ended = flow.is_ended();
        let written = flow.written();
        let block = flow.next_labelled(next.block, written, geometry);
        let turn = next.turn;
        if let Some(length) = flow.length().filter(|_| ended && block == written) {
            next.ended = true;
            return Ok(Frame::End { turn, length, digest: next.digest.digest() });
        }
        next.turn += 1;
        if block > next.block {
            next.block = block;
            return Ok(Frame::Passed { turn, blocks: block });
        }
        let bytes = geometry.bytes_in(block, flow.length().unwrap_or(u64::MAX));
        let hash = xxh3_64(self.bytes(block, bytes));
        next.digest.update(&block.to_le_bytes());
        next.digest.update(&hash.to_le_bytes());
        next.block = block + 1;
        Ok(Frame::Block { turn, block, bytes: bytes as u32, hash })
    }

    fn bytes(&self, block: u64, bytes: usize) -> &[u8] {
        // SAFETY: U3: the block is below `written`, and is released by this very pump, once the receiver has given it up.
        unsafe { std::slice::from_raw_parts(self.ring.at(block), bytes) }
    }

    fn send(&self, pump: &mut impl Pump, frame: Frame) -> io::Result<()> {
        let Frame::Block { block, bytes, .. } = frame else { return pump.send(frame) };
        // SAFETY: U3: its slot is the producer's again when the block is released, which is when its credit comes.
        unsafe { pump.send_block(frame, self.bytes(block, bytes as usize)) }
    }

    /// What the receiver says.
    fn hear(&self, pump: &mut impl Pump) {
        let flow = self.ring.flow();
        let failure = loop {
            match pump.receive() {
                // It has arrived, so nothing of it is read here any more.
                Ok(Frame::Credit { released }) if released <= flow.written() => flow.release(released),
                Ok(Frame::Confirm { digest }) if digest == lock(&self.next).digest.digest() => {
                    return flow.take();
                }
                Ok(Frame::Abort { failure }) => {
                    break Failure::from_number(failure).unwrap_or(Failure::Protocol);
                }
                Ok(_) => break Failure::Protocol,
                Err(error) => return lost(flow, &error),
            }
        };
        flow.fail(failure);
        pump.drain();
    }
}
