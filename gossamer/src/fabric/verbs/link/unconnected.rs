//! Queue pairs that are not connected yet, and the endpoints that they are for: they are made before there are workers.

use crate::fabric::verbs::completion::{
    CompletionChannel, CompletionFailure, CompletionQueue, WorkCompletion,
};
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::link::connection::RECEIVE;
use crate::fabric::verbs::link::received::{RECEIVES, ReceivedMessages};
use crate::fabric::verbs::link::remote_node::{Rail, RemoteNode};
use crate::fabric::verbs::link::source_ring::SourceRing;
use crate::fabric::verbs::memory::RemoteAddress;
use crate::fabric::verbs::queue_pair::{Persistence, QueuePair, QueuePairCapacity, RemoteQueuePair};
use crate::fabric::verbs::send_chain::{Payload, SendChain, Signal};
use std::collections::{HashMap, HashSet};
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Work requests of a send queue.
pub(super) const SENDS: u32 = 256;
/// Bytes that go inline, if the device grants them: a batch of a few small requests.
const INLINE: u32 = 220;
/// Bytes that can wait for the device to read them, for each queue pair.
const RING: usize = 128 * 1024;
/// The name of the write that shows that the remote side is reached.
const PROBE: u64 = 0;
/// Time between two looks for its completion.
const PROBE_LOOK: Duration = Duration::from_micros(50);

/// A completion queue of one worker, for all its queue pairs on a device, and those of these queue pairs that are
/// connected.
pub(crate) struct UnconnectedEndpoint {
    pub(super) worker: usize,
    pub(super) channel: Arc<CompletionChannel>,
    pub(super) queue: Arc<CompletionQueue>,
    pub(super) connected: Vec<ConnectedPair>,
}

impl UnconnectedEndpoint {
    /// An endpoint for this many connections of a worker.
    ///
    /// # Errors
    /// The device has no completion queue of that size left, or the process no descriptor.
    pub(super) fn new(context: &Arc<DeviceContext>, worker: usize, connections: usize) -> io::Result<Self> {
        let channel = CompletionChannel::new(context)?;
        // When a queue pair fails, all its work requests complete.
        let entries = connections as u32 * (SENDS + RECEIVES);
        let queue = CompletionQueue::new(context, entries, Some(&channel))?;
        Ok(Self { worker, channel, queue, connected: Vec::new() })
    }

    /// The nodes to which it carries what its worker writes.
    pub(crate) fn writes_to(&self) -> Vec<usize> {
        let own = self.connected.iter().filter(|pair| pair.remote.is_own);
        own.map(|pair| pair.remote.node.number()).collect()
    }

    /// Waits for the completions of probes, by the numbers of their queue pairs. Returns why each failed, if it did.
    /// Those that have not completed in time are left out.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn await_probes(
        &self,
        mut awaited: HashSet<u32>,
        due: Instant,
    ) -> io::Result<HashMap<u32, Option<CompletionFailure>>> {
        let (mut completions, mut ended) = ([WorkCompletion::default(); 8], HashMap::new());
        while !awaited.is_empty() && Instant::now() < due {
            let count = self.queue.poll(&mut completions)?;
            // The receives of a queue pair that fails are flushed, too.
            for probe in completions[..count].iter().filter(|completion| completion.id() == PROBE) {
                awaited.remove(&probe.queue_pair());
                ended.insert(probe.queue_pair(), probe.failure());
            }
            if count == 0 {
                std::thread::sleep(PROBE_LOOK);
            }
        }
        Ok(ended)
    }
}

/// What a queue pair is for.
pub(super) struct RemoteWorker {
    pub(super) node: Arc<RemoteNode>,
    /// The worker at the other end.
    pub(super) peer: usize,
    /// The index of its pair of ports.
    pub(super) rail: usize,
    /// Whether it carries what this side's worker writes to that node.
    pub(super) is_own: bool,
}

impl RemoteWorker {
    pub(super) fn rail(&self) -> &Rail {
        &self.node.rails()[self.rail]
    }
}

/// A queue pair that is not connected yet, with what its remote side needs to write here.
pub(super) struct UnconnectedPair {
    remote: RemoteWorker,
    /// The number of its worker in this node, and of its device.
    place: (usize, usize),
    /// The number of the first packet that it sends.
    first_packet: u32,
    pair: QueuePair,
    inbox: ReceivedMessages,
    ring: SourceRing,
}

impl UnconnectedPair {
    /// # Errors
    /// The device has no queue pair left, or memory cannot be pinned.
    pub(super) fn new(
        remote: RemoteWorker,
        queue: &Arc<CompletionQueue>,
        place: (usize, usize),
        first_packet: u32,
    ) -> io::Result<Self> {
        let domain = remote.rail().domain();
        let wished = QueuePairCapacity { sends: SENDS, receives: RECEIVES, gather: 1, inline: INLINE };
        let pair = QueuePair::new(domain, queue, queue, wished)?;
        let (inbox, ring) = (ReceivedMessages::new(domain)?, SourceRing::new(domain, RING)?);
        Ok(Self { remote, place, first_packet, pair, inbox, ring })
    }

    /// The number of its worker in this node, and of its device.
    pub(super) fn place(&self) -> (usize, usize) {
        self.place
    }

    /// Its number.
    pub(super) fn number(&self) -> u32 {
        self.pair.number()
    }

    /// The number of the first packet that it sends.
    pub(super) fn first_packet(&self) -> u32 {
        self.first_packet
    }

    /// Where messages for this side are written.
    pub(super) fn inbox(&self) -> RemoteAddress {
        self.inbox.remote()
    }

    /// Makes it receive: from now on the remote side may write.
    ///
    /// # Errors
    /// The address is invalid, or the device is gone.
    pub(super) fn receive(&self, remote: &RemoteQueuePair) -> io::Result<()> {
        self.pair.initialize(remote.address.port)?;
        self.pair.post_receives(RECEIVES as usize, RECEIVE)?;
        self.pair.receive_from(remote)
    }

    /// Makes it send, to a remote side that receives, with up to this many reads under way. It begins with an empty
    /// write, whose completion tells whether the remote side is reached.
    ///
    /// # Errors
    /// The device is gone.
    pub(super) fn probe(&self, outbox: RemoteAddress, reads: u8, persistence: Persistence) -> io::Result<()> {
        self.pair.send_from(self.first_packet, reads, persistence)?;
        let mut chain = SendChain::new(1, 1, 0);
        chain.write(Payload::Inline(&[]), outbox, None, Signal { id: PROBE, always: true });
        self.pair.post(&mut chain)
    }

    /// Its remote side was reached. `outbox`: where its messages are written.
    pub(super) fn connected(self, outbox: RemoteAddress) -> ConnectedPair {
        let Self { remote, pair, inbox, ring, .. } = self;
        ConnectedPair { remote, pair, inbox, outbox, ring }
    }
}

/// A queue pair whose two sides may write.
pub(super) struct ConnectedPair {
    pub(super) remote: RemoteWorker,
    pub(super) pair: QueuePair,
    pub(super) inbox: ReceivedMessages,
    pub(super) outbox: RemoteAddress,
    pub(super) ring: SourceRing,
}
