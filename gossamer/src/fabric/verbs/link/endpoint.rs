//! The endpoint of one worker to all nodes that it reaches by one device: a completion queue, and a queue pair for each connection.

use crate::fabric::verbs::completion::{CompletionChannel, CompletionQueue, WorkCompletion};
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::link::connection::{RECEIVE, VerbsConnection};
use crate::fabric::verbs::link::lane_writes::LaneWrites;
use crate::fabric::verbs::link::received::{RECEIVES, ReceivedMessages};
use crate::fabric::verbs::link::remote_node::RemoteNode;
use crate::fabric::verbs::link::send_queue::SendQueue;
use crate::fabric::verbs::link::source_ring::SourceRing;
use crate::fabric::verbs::memory::RemoteAddress;
use crate::fabric::verbs::queue_pair::{Persistence, QueuePair, QueuePairCapacity, RemoteQueuePair};
use crate::fabric::{Busy, Endpoint, Event, Fabric, Fragment, Lane, SlotMemory};
use crate::wire::refusal::Malformed;
use crate::wire::word::{Word, bytes_of, initialised};
use std::cell::{Cell, RefCell};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::rc::Rc;
use std::sync::Arc;

/// Work requests of a send queue.
const SENDS: u32 = 256;
/// Bytes that go inline, if the device grants them: a batch of a few small requests.
const INLINE: u32 = 220;
/// Bytes of what waits to be read by the device, for each queue pair.
const RING: usize = 128 * 1024;
/// Reads of either side that may be under way.
pub(crate) const READS: u8 = 4;
/// Completions taken by one call.
const COMPLETIONS: usize = 32;

/// The endpoint of one worker.
pub(crate) struct VerbsEndpoint {
    worker: usize,
    channel: Arc<CompletionChannel>,
    queue: Arc<CompletionQueue>,
    /// And whether each carries what this worker writes.
    connections: Vec<(Rc<VerbsConnection>, bool)>,
    completions: RefCell<[WorkCompletion; COMPLETIONS]>,
    /// Why slots could not be registered.
    failed: Cell<Option<io::Error>>,
}

/// A queue pair that is not connected yet, with what its remote side needs to write here.
pub(crate) struct UnconnectedPair {
    node: Arc<RemoteNode>,
    peer: usize,
    pair: QueuePair,
    inbox: ReceivedMessages,
}

impl UnconnectedPair {
    /// Its number.
    pub(crate) fn number(&self) -> u32 {
        self.pair.number()
    }

    /// Where messages for this side are written.
    pub(crate) fn inbox(&self) -> RemoteAddress {
        self.inbox.remote()
    }

    /// Has it receive: from now on the remote side may write.
    ///
    /// # Errors
    /// The address is none, or the device is gone.
    pub(crate) fn receive(&self, port: u8, remote: &RemoteQueuePair) -> io::Result<()> {
        self.pair.initialize(port)?;
        self.pair.post_receives(RECEIVES as usize, RECEIVE)?;
        self.pair.receive_from(remote)
    }
}

impl VerbsEndpoint {
    /// The endpoint of a worker that will have so many connections.
    ///
    /// # Errors
    /// The device has no completion queue of that size left, or the process no descriptor.
    pub(crate) fn new(context: &Arc<DeviceContext>, worker: usize, connections: usize) -> io::Result<Self> {
        let channel = CompletionChannel::new(context)?;
        // When a queue pair fails, all its work requests complete.
        let entries = connections as u32 * (SENDS + RECEIVES);
        let queue = CompletionQueue::new(context, entries, Some(&channel))?;
        let completions = RefCell::new([WorkCompletion::default(); COMPLETIONS]);
        let failed = Cell::new(None);
        Ok(Self { worker, channel, queue, connections: Vec::new(), completions, failed })
    }

    /// A queue pair to a worker of a remote node.
    ///
    /// # Errors
    /// The device has none left, or memory cannot be pinned.
    pub(crate) fn pair(&self, node: &Arc<RemoteNode>, peer: usize) -> io::Result<UnconnectedPair> {
        let wished = QueuePairCapacity { sends: SENDS, receives: RECEIVES, gather: 1, inline: INLINE };
        let pair = QueuePair::new(node.domain(), &self.queue, &self.queue, wished)?;
        let inbox = ReceivedMessages::new(node.domain())?;
        Ok(UnconnectedPair { node: Arc::clone(node), peer, pair, inbox })
    }

    /// Connects a queue pair whose remote side receives. `outbox`: where its messages are written; `is_own`: whether it carries what this
    /// worker writes to that node.
    ///
    /// # Errors
    /// The device is gone, or memory cannot be pinned.
    pub(crate) fn connect_pair(
        &mut self,
        pair: UnconnectedPair,
        outbox: RemoteAddress,
        (first_packet, persistence): (u32, Persistence),
        is_own: bool,
    ) -> io::Result<()> {
        let UnconnectedPair { node, peer, pair, inbox } = pair;
        pair.send_from(first_packet, READS, persistence)?;
        let sends = SendQueue::new(pair, SourceRing::new(node.domain(), RING)?);
        let connection = VerbsConnection::new(&node, (self.worker, peer), sends, inbox, outbox);
        self.connections.push((connection, is_own));
        Ok(())
    }

    /// The connection that carries what this worker writes to the node of another.
    fn connection_to(&self, worker: usize) -> &Rc<VerbsConnection> {
        let carries = |(connection, is_own): &&(Rc<_>, bool)| {
            *is_own && VerbsConnection::node(connection).peers().contains(&worker)
        };
        match self.connections.iter().find(carries) {
            Some((connection, _)) => connection,
            None => unreachable!("worker {worker} is of no node that is reached so"),
        }
    }

    /// The numbers of its queue pairs.
    #[cfg(test)]
    pub(super) fn queue_pairs(&self) -> Vec<u32> {
        self.connections.iter().map(|(connection, _)| connection.number()).collect()
    }

    /// Whether something that was posted may not be done yet; then it will be told of all.
    #[cfg(test)]
    pub(super) fn fence(&self) -> bool {
        self.connections.iter().fold(false, |any, (connection, _)| connection.fence() | any)
    }

    fn connection(&self, queue_pair: u32) -> Option<&Rc<VerbsConnection>> {
        let mut all = self.connections.iter().map(|(connection, _)| connection);
        all.find(|connection| connection.number() == queue_pair)
    }

    /// Takes one completion.
    fn take(
        &self,
        completion: &WorkCompletion,
        told: &mut impl FnMut(Event<'_>) -> Result<(), Malformed>,
    ) -> io::Result<()> {
        let Some(connection) = self.connection(completion.queue_pair()) else { return Ok(()) };
        if let Some(failure) = completion.failure() {
            return Err(io::Error::other(format!("worker {}: {failure}", connection.peer())));
        }
        match completion.immediate() {
            Some(immediate) => {
                connection.arrive(immediate, told)?;
                connection.post_receives(1)
            }
            None => {
                connection.complete(completion.id());
                Ok(())
            }
        }
    }
}

impl Endpoint for VerbsEndpoint {
    type Fabric = VerbsWriter;

    fn register(&self, lane: Lane) -> Arc<SlotMemory> {
        match self.connection_to(lane.writer).node().lanes().register(lane) {
            Ok(registered) => registered.slots,
            Err(error) => {
                // The next `poll` says so, and the node ends: nobody will write these.
                self.failed.set(Some(error));
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
        self.connections.iter().try_for_each(|(connection, _)| connection.flush())
    }

    fn poll(&self, mut told: impl FnMut(Event<'_>) -> Result<(), Malformed>) -> io::Result<bool> {
        let mut completions = self.completions.borrow_mut();
        let mut any = false;
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        loop {
            let count = self.queue.poll(&mut completions[..])?;
            completions[..count].iter().try_for_each(|completion| self.take(completion, &mut told))?;
            any |= count > 0;
            if count < COMPLETIONS {
                return Ok(any);
            }
        }
    }

    #[inline(always)]
    fn has_arrivals(&self) -> bool {
        false
    }

    fn unsent(&self) -> usize {
        self.connections.iter().map(|(connection, _)| connection.unsent()).sum()
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
    // SAFETY: no slot is touched here but by the device; the contract holds for the slots of the peer.
    unsafe fn write(&self, slot: usize, header: u64, body: &[Word]) {
        // SAFETY: W6: the caller's.
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
}
