//! Blocks by RDMA: the receiver reads them from the sender's slots into its own, so nothing is copied, and nobody writes into another
//! process. Frames, credits and ends go over a TCP connection, which also notices that the other end is gone.
#![expect(unsafe_code, reason = "the trait's: what is sent stays in its slot until it was read")]

use crate::fabric::verbs::reads::end::ReadEnd;
use crate::fabric::verbs::reads::queue::{ReadFailure, ReadQueue};
use crate::fabric::verbs::words::completion_status;
use crate::stream::blocks::flow::Failure;
use crate::stream::blocks::ring::Ring;
use crate::stream::pump::frame::PumpFrame;
use crate::stream::pump::tcp::Tcp;
use crate::stream::pump::{Arrival, Pump, PumpError, REASON};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

/// A connection, and what it takes to read the ring of the sender.
pub(crate) struct Verbs {
    tcp: Tcp,
    ring: Arc<Ring>,
    role: Role,
}

enum Role {
    /// The other end reads the ring of this one, as long as a handle lives.
    Source(Arc<ReadEnd>),
    Target(Box<BlockReader>),
    /// Another handle of a target, for answers.
    Answers,
}

/// What reads.
struct BlockReader {
    reads: ReadQueue,
    /// A frame behind which no bytes come: it has its turn when all that came before is there.
    held: Option<PumpFrame>,
}

/// Why nothing comes to a target any more.
enum ReaderError {
    Connection(io::Error),
    Device(ReadFailure),
}

impl From<io::Error> for ReaderError {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl From<ReadFailure> for ReaderError {
    fn from(failure: ReadFailure) -> Self {
        Self::Device(failure)
    }
}

impl BlockReader {
    /// Sleeps until there is something: no more frames are taken than there is room for their bytes.
    fn next(&mut self, tcp: &mut Tcp) -> Result<Arrival, ReaderError> {
        loop {
            if self.reads.fetch()? {
                return Ok(Arrival::Bytes);
            }
            if self.reads.is_idle() {
                let frame = self.held.take().map_or_else(|| tcp.receive_frame(), Ok)?;
                return Ok(Arrival::Frame(frame));
            }
            let takes_frames = self.held.is_none() && self.reads.has_room();
            if self.reads.sleep(takes_frames.then(|| tcp.socket().as_fd()), None)? {
                match tcp.receive_frame()? {
                    frame @ (PumpFrame::Bytes { .. } | PumpFrame::Passed { .. }) => {
                        return Ok(Arrival::Frame(frame));
                    }
                    frame => self.held = Some(frame),
                }
            }
        }
    }
}

impl Verbs {
    /// The sender's: the other end reads its ring.
    pub(crate) fn source(tcp: Tcp, ring: &Arc<Ring>, end: ReadEnd) -> Self {
        Self { tcp, ring: Arc::clone(ring), role: Role::Source(Arc::new(end)) }
    }

    /// The receiver's.
    pub(crate) fn target(tcp: Tcp, ring: &Arc<Ring>, reads: ReadQueue) -> Self {
        let target = BlockReader { reads, held: None };
        Self { tcp, ring: Arc::clone(ring), role: Role::Target(Box::new(target)) }
    }

    /// Why the stream fails, once nothing can be read: because the sender has failed before, or is gone, or by the device.
    fn reason(&mut self, failure: ReadFailure) -> PumpError {
        let held = match &mut self.role {
            Role::Target(target) => target.held.take(),
            Role::Source(_) | Role::Answers => None,
        };
        let due = Instant::now() + REASON;
        let mut next = held.map(Ok);
        loop {
            match next.take() {
                Some(Ok(PumpFrame::Abort { failure })) => {
                    return PumpError::Failed(Failure::from_number(failure).unwrap_or(Failure::Protocol));
                }
                Some(Err(error)) => return PumpError::Lost(error),
                _ => {}
            }
            if Instant::now() >= due || self.tcp.socket().wait_until_readable(due).is_err() {
                self.ring.explain(failure.why);
                return PumpError::Failed(Failure::Rdma(failure.status));
            }
            next = Some(self.tcp.receive_frame());
        }
    }

    /// What the receiver says, of which the sender's user is to have the words.
    fn note(&self, frame: PumpFrame) {
        let PumpFrame::Abort { failure } = frame else { return };
        match Failure::from_number(failure) {
            Some(Failure::Rdma(0)) => self.ring.explain("the device of the receiver has failed".into()),
            Some(Failure::Rdma(status)) => {
                let words = completion_status(status);
                self.ring.explain(format!("the receiver cannot read: {words} (status {status})"));
            }
            _ => {}
        }
    }
}

impl Pump for Verbs {
    fn send(&mut self, frame: PumpFrame) -> io::Result<()> {
        self.tcp.send(frame)
    }

    // SAFETY: what the trait says: the other end reads the bytes where they are.
    unsafe fn send_bytes(&mut self, frame: PumpFrame, _bytes: &[u8], _given_up: u64) -> io::Result<()> {
        self.tcp.send(frame)
    }

    fn receive(&mut self) -> Result<Arrival, PumpError> {
        if let Role::Target(target) = &mut self.role {
            return target.next(&mut self.tcp).map_err(|error| match error {
                ReaderError::Connection(error) => PumpError::Lost(error),
                ReaderError::Device(failure) => self.reason(failure),
            });
        }
        let frame = self.tcp.receive_frame()?;
        self.note(frame);
        Ok(Arrival::Frame(frame))
    }

    fn receive_bytes(&mut self, place: usize, slot: &mut [u8]) -> Result<bool, PumpError> {
        match &mut self.role {
            Role::Target(target) if !slot.is_empty() => {
                let begun = target.reads.begin(place..place + slot.len());
                begun.map(|()| false).map_err(|failure| self.reason(failure))
            }
            _ => Ok(true),
        }
    }

    fn is_sealed(&self) -> bool {
        false
    }

    fn hang_up(&self) {
        self.tcp.hang_up();
    }

    fn drain(&mut self) {
        self.tcp.drain();
    }

    fn try_clone(&self) -> io::Result<Self> {
        let role = match &self.role {
            Role::Source(end) => Role::Source(Arc::clone(end)),
            Role::Target(_) | Role::Answers => Role::Answers,
        };
        Ok(Self { tcp: self.tcp.try_clone()?, ring: Arc::clone(&self.ring), role })
    }
}
