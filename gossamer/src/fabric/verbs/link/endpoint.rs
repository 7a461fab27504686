//! The endpoint of one worker to all nodes that it reaches through one device: a completion queue, and a queue pair for
//! each connection.

use crate::fabric::verbs::completion::{CompletionChannel, CompletionQueue, WorkCompletion};
use crate::fabric::verbs::link::connection::{RECEIVE, VerbsConnection};
use crate::fabric::verbs::link::lane_writes::LaneWrites;
use crate::fabric::verbs::link::message::Immediate;
use crate::fabric::verbs::link::unconnected::UnconnectedEndpoint;
use crate::fabric::{Busy, Endpoint, Event, Fabric, Fragment, Lane, SlotMemory};
use crate::wire::refusal::Malformed;
use crate::wire::row::Row;
use crate::wire::word::{Word, bytes_of, initialised};
use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;

/// Completions taken by one call.
const COMPLETIONS: usize = 32;

/// The endpoint of one worker.
pub(crate) struct VerbsEndpoint {
    channel: Arc<CompletionChannel>,
    queue: Arc<CompletionQueue>,
    connections: Vec<Rc<VerbsConnection>>,
    completions: RefCell<Box<[WorkCompletion; COMPLETIONS]>>,
    /// Why work requests failed, or slots could not be registered, and whether the reason for that is unknown.
    failed: RefCell<Option<(io::Error, bool)>>,
}

impl VerbsEndpoint {
    /// The endpoint of a worker, whose queue pairs are connected.
    pub(crate) fn new(connected: UnconnectedEndpoint) -> Self {
        let UnconnectedEndpoint { worker, channel, queue, connected } = connected;
        let connections = connected.into_iter().map(|pair| VerbsConnection::new(worker, pair)).collect();
        let completions = RefCell::new(Box::new([WorkCompletion::default(); COMPLETIONS]));
        Self { channel, queue, connections, completions, failed: RefCell::default() }
    }

    /// The connection that carries what this worker writes to the node of another.
    fn connection_to(&self, worker: usize) -> &Rc<VerbsConnection> {
        let carries = |connection: &&Rc<VerbsConnection>| {
            connection.is_own() && connection.node().peers().contains(&worker)
        };
        match self.connections.iter().find(carries) {
            Some(connection) => connection,
            None => unreachable!("worker {worker} is of no node that is reached so"),
        }
    }

    /// The numbers of its queue pairs.
    #[cfg(all(test, not(loom)))]
    pub(super) fn queue_pairs(&self) -> Vec<u32> {
        self.connections.iter().map(|connection| connection.number()).collect()
    }

    /// Whether something that was posted may not be done yet. If so, the completion of all of it will be reported.
    #[cfg(all(test, not(loom)))]
    pub(super) fn fence(&self) -> bool {
        self.connections.iter().fold(false, |any, connection| connection.fence() | any)
    }

    fn connection(&self, queue_pair: u32) -> Option<&Rc<VerbsConnection>> {
        self.connections.iter().find(|connection| connection.number() == queue_pair)
    }

    /// Takes one completion.
    pub(super) fn take(
        &self,
        completion: &WorkCompletion,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> io::Result<()> {
        let Some(connection) = self.connection(completion.queue_pair()) else { return Ok(()) };
        if let Some(failure) = completion.failure() {
            // Of several failures, the first that is not a flush says why.
            let mut failed = self.failed.borrow_mut();
            if failed.as_ref().is_none_or(|(_, is_flush)| *is_flush) {
                *failed = Some((io::Error::other(format!("{connection}: {failure}")), failure.is_flush()));
            }
            return Ok(());
        }
        match completion.immediate() {
            Some(immediate) => connection.arrive(immediate, told),
            // No node sends: each receive is for a write.
            None if completion.id() == RECEIVE => {
                Err(io::Error::new(io::ErrorKind::InvalidData, Malformed::instead_of::<Immediate>()))
            }
            None => connection.complete(completion.id(), told),
        }
    }
}

impl Endpoint for VerbsEndpoint {
    type Fabric = VerbsWriter;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        match self.connection_to(lane.writer).node().lanes_of(lane.writer).register(lane) {
            Ok(registered) => registered.slots,
            Err(error) => {
                // The next `poll` reports it, and the node ends: nobody will write these slots.
                *self.failed.borrow_mut() = Some((error, false));
                SlotMemory::far()
            }
        }
    }

    fn connect(&self, lane: Lane) -> VerbsWriter {
        let connection = self.connection_to(lane.reader);
        VerbsWriter { lane: connection.writes_to(lane), connection: Rc::clone(connection) }
    }

    #[inline]
    fn flush(&self) -> io::Result<()> {
        self.connections.iter().try_for_each(|connection| connection.flush())
    }

    fn poll(&self, mut told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        let mut completions = self.completions.borrow_mut();
        let mut any = false;
        loop {
            let count = self.queue.poll(&mut completions[..])?;
            completions[..count].iter().try_for_each(|completion| self.take(completion, &mut told))?;
            self.connections.iter().try_for_each(|connection| connection.post_receives())?;
            any |= count > 0;
            if count < COMPLETIONS {
                return self.failed.take().map_or(Ok(any), |(error, _)| Err(error));
            }
        }
    }

    #[inline(always)]
    fn has_arrivals(&self) -> bool {
        false
    }

    fn unsent(&self) -> usize {
        self.connections.iter().map(|connection| connection.unsent()).sum()
    }

    fn descriptor(&self) -> Option<RawFd> {
        Some(self.channel.descriptor().as_raw_fd())
    }

    fn arm(&self) -> io::Result<()> {
        while self.channel.take_event()? {}
        self.queue.arm()
    }
}

/// The way to the slots of one lane of a worker of another node.
pub(crate) struct VerbsWriter {
    connection: Rc<VerbsConnection>,
    lane: Rc<LaneWrites>,
}

impl Fabric for VerbsWriter {
    #[inline]
    // SAFETY: only the device touches a slot here; the contract holds for the slots of the peer.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        // SAFETY: W6: guaranteed by the caller.
        let body = bytes_of(unsafe { initialised(body) });
        self.connection.write(&self.lane, slot, header, body);
    }

    #[inline(always)]
    fn prepare(&self, _slot: usize, _words: usize) {}

    fn send(&self, fragment: Fragment<'_>) -> Result<(), Busy> {
        self.connection.send(&self.lane, fragment)
    }

    fn has_room(&self) -> bool {
        self.connection.has_room()
    }

    #[inline]
    fn takes_rows_of(&self, bytes: usize) -> bool {
        self.connection.takes_rows_of(bytes)
    }

    fn send_row(&self, ticket: u64, row: Row) -> Result<(), Row> {
        self.connection.send_row(&self.lane, ticket, row)
    }
}
