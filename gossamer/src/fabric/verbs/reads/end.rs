//! One end of a queue pair for reads, with the memory that is read, or that reads land in.

use crate::fabric::verbs::choice::address::{AddressVector, Mtu};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::completion::{CompletionChannel, CompletionQueue};
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::memory::{
    MemoryRegion, ProtectionDomain, RegionAccess, RegisteredMemory, RemoteAddress,
};
use crate::fabric::verbs::queue_pair::{Persistence, QueuePair, QueuePairCapacity, RemoteQueuePair};
use crate::fabric::verbs::reads::parameters::ReadParameters;
use crate::transport::random::random;
use std::io;
use std::sync::Arc;

/// How many reads at most are under way, if the devices allow as many.
pub(super) const MOST_READS: u32 = 16;

/// A queue pair and its memory, in a domain of their own: no key of another connection opens anything here.
pub(crate) struct ReadEnd {
    pub(super) context: Arc<DeviceContext>,
    pub(super) queue_pair: QueuePair,
    pub(super) completions: Arc<CompletionQueue>,
    pub(super) channel: Arc<CompletionChannel>,
    pub(super) region: Arc<MemoryRegion>,
    parameters: ReadParameters,
}

/// The way to the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadPath {
    pub(crate) address: AddressVector,
    /// The smaller of the two.
    pub(crate) mtu: Mtu,
}

impl ReadEnd {
    /// An end at a port. The other end may read the memory (`RemoteRead`), or this end's reads land in it
    /// (`ReadTarget`).
    ///
    /// # Errors
    /// The memory cannot be pinned, or the device has nothing left or is gone.
    pub(crate) fn new(
        context: &Arc<DeviceContext>,
        port: u8,
        memory: Arc<dyn RegisteredMemory>,
        access: RegionAccess,
    ) -> io::Result<Self> {
        let domain = ProtectionDomain::new(context)?;
        let region = MemoryRegion::new(&domain, memory, access)?;
        let channel = CompletionChannel::new(context)?;
        let completions = CompletionQueue::new(context, MOST_READS + 1, Some(&channel))?;
        let wished = QueuePairCapacity { sends: MOST_READS, receives: 1, gather: 1, inline: 0 };
        let queue_pair = QueuePair::new(&domain, &completions, &completions, wished)?;
        queue_pair.initialize(port)?;
        let limits = context.limits()?;
        let is_read = access == RegionAccess::RemoteRead;
        let parameters = ReadParameters {
            number: queue_pair.number(),
            first_packet: u32::from_le_bytes(random()?) >> 8,
            largest_message: context.largest_message(port)?,
            reads_sent: limits.reads_sent,
            reads_received: limits.reads_received,
            memory: if is_read { region.remote(0) } else { RemoteAddress { address: 0, key: 0 } },
        };
        Ok(Self { context: Arc::clone(context), queue_pair, completions, channel, region, parameters })
    }

    /// What the other end has to know.
    pub(crate) fn parameters(&self) -> ReadParameters {
        self.parameters
    }

    /// Connects it to the other end. It may read nothing before the other end is connected, too.
    ///
    /// # Errors
    /// There is no way to it, or the device is gone.
    pub(crate) fn connect(
        &self,
        theirs: &ReadParameters,
        path: ReadPath,
        settings: &VerbsSettings,
    ) -> io::Result<()> {
        let ours = &self.parameters;
        self.queue_pair.receive_from(&RemoteQueuePair {
            number: theirs.number,
            first_packet: theirs.first_packet,
            address: path.address,
            mtu: path.mtu,
            reads: ours.reads_received.min(theirs.reads_sent),
        })?;
        let persistence = Persistence { timeout: settings.timeout, retries: settings.retries };
        self.queue_pair.send_from(ours.first_packet, self.reads_under_way(theirs), persistence)
    }

    /// How many reads of this end may be under way.
    pub(super) fn reads_under_way(&self, theirs: &ReadParameters) -> u8 {
        self.parameters.reads_sent.min(theirs.reads_received)
    }
}
