//! One end of the queue pair under test, with the memory that the other end writes.

use crate::fabric::verbs::abi::types::*;
use crate::fabric::verbs::choice::pairs::PortPair;
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::completion::{CompletionFailure, CompletionQueue, WorkCompletion};
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::memory::{MemoryRegion, ProtectionDomain, RegionAccess, RemoteAddress};
use crate::fabric::verbs::queue_pair::{Persistence, QueuePair, QueuePairCapacity, RemoteQueuePair};
use crate::fabric::verbs::send_chain::{Payload, SendChain, Signal};
use crate::sys::memory::device_memory::DeviceMemory;
use crate::transport::random::random;
use gossamer_macros::NoRef;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a large write.
pub(super) const LARGE: usize = 64 * 1024;
/// Where a large write lands, after the word that small ones write.
const LARGE_PLACE: usize = 4096;
/// How many writes at most are under way.
const DEPTH: u32 = 16;
/// Reads under way. There are none, but some devices reject zero.
const READS: u8 = 1;
/// Attempts before other threads may run.
const LOOKS: u32 = 64;
/// How long an end waits without sleeping, and how long a sleep takes.
const AWAKE: Duration = Duration::from_millis(2);
const NAP: Duration = Duration::from_micros(50);
/// How long the first write may take until it is acknowledged.
const PROBE: Duration = Duration::from_secs(8);

/// What one end tells the other.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckParameters {
    /// The number of its queue pair.
    number: u32,
    /// The number of the first packet that it sends.
    first_packet: u32,
    /// Its memory: address and key.
    memory: (u64, u32),
}

/// One end.
pub(super) struct CheckEnd {
    context: Arc<DeviceContext>,
    queue_pair: QueuePair,
    completions: Arc<CompletionQueue>,
    chain: SendChain,
    /// The memory that the other end writes, and its region, without which it could not.
    received: Arc<DeviceMemory>,
    _target: Arc<MemoryRegion>,
    /// Large writes are made from it.
    source: Arc<MemoryRegion>,
    parameters: CheckParameters,
    /// The memory of the other end.
    remote: RemoteAddress,
    under_way: u32,
    /// What to check if there is no answer.
    silence: &'static str,
}

impl CheckEnd {
    /// # Errors
    /// The device has too little of something left, or memory cannot be locked.
    pub(super) fn new(context: &Arc<DeviceContext>, port: u8) -> io::Result<Self> {
        let domain = ProtectionDomain::new(context)?;
        let received = DeviceMemory::map(LARGE_PLACE + LARGE)?;
        let target = MemoryRegion::new(&domain, received.clone(), RegionAccess::RemoteWrite)?;
        let source = MemoryRegion::new(&domain, DeviceMemory::map(LARGE)?, RegionAccess::Source)?;
        let completions = CompletionQueue::new(context, DEPTH + 1, None)?;
        let wished =
            QueuePairCapacity { sends: DEPTH, receives: 1, gather: 1, inline: size_of::<u64>() as u32 };
        let queue_pair = QueuePair::new(&domain, &completions, &completions, wished)?;
        let inline = queue_pair.granted().inline as usize;
        if inline < size_of::<u64>() {
            let why = format!("RDMA device {}: it takes no inline data, which nodes need", context.name());
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        queue_pair.initialize(port)?;
        let first_packet = u32::from_le_bytes(random()?) >> 8;
        let RemoteAddress { address, key } = target.remote(0);
        Ok(Self {
            context: Arc::clone(context),
            parameters: CheckParameters { number: queue_pair.number(), first_packet, memory: (address, key) },
            queue_pair,
            completions,
            chain: SendChain::new(1, 1, inline),
            received,
            _target: target,
            source,
            remote: RemoteAddress { address: 0, key: 0 },
            under_way: 0,
            silence: NOT_REACHED,
        })
    }

    pub(super) fn parameters(&self) -> CheckParameters {
        self.parameters
    }

    /// Takes the parameters of the other end, which may write from now on.
    ///
    /// # Errors
    /// There is no way to it, or the device is gone.
    pub(super) fn receive(
        &mut self,
        theirs: &CheckParameters,
        pair: &PortPair,
        end: usize,
        settings: &VerbsSettings,
    ) -> io::Result<()> {
        self.remote = RemoteAddress { address: theirs.memory.0, key: theirs.memory.1 };
        self.queue_pair.receive_from(&RemoteQueuePair {
            number: theirs.number,
            first_packet: theirs.first_packet,
            address: pair.way(end, settings),
            mtu: pair.mtu,
            reads: READS,
        })
    }

    /// Sends to an end that receives, beginning with an empty write, and waits until that is acknowledged.
    ///
    /// # Errors
    /// It is not acknowledged, or the device is gone.
    pub(super) fn probe(&mut self, settings: &VerbsSettings) -> io::Result<()> {
        let persistence = Persistence { timeout: settings.timeout, retries: settings.retries };
        self.queue_pair.send_from(self.parameters.first_packet, READS, persistence)?;
        let due = Instant::now() + PROBE;
        self.post(Payload::Inline(&[]), 0, due)?;
        self.finish(due)?;
        self.silence = "";
        Ok(())
    }

    /// Writes a number into the word of the other end.
    ///
    /// # Errors
    /// A write has failed, or none has completed in time.
    pub(super) fn tell(&mut self, number: u64, due: Instant) -> io::Result<()> {
        self.post(Payload::Inline(&number.to_ne_bytes()), 0, due)
    }

    /// Writes 64 KiB.
    ///
    /// # Errors
    /// Like `tell`.
    pub(super) fn write_large(&mut self, due: Instant) -> io::Result<()> {
        self.silence = LARGE_LOST;
        let entry = self.source.entry(0..LARGE);
        self.post(Payload::Registered(&[entry]), LARGE_PLACE, due)
    }

    fn post(&mut self, payload: Payload<'_>, place: usize, due: Instant) -> io::Result<()> {
        self.await_that(due, |end| Ok((end.under_way < DEPTH).then_some(())))?;
        self.chain.write(payload, self.remote.behind(place), None, Signal { id: 0, always: true });
        self.queue_pair.post(&mut self.chain)?;
        self.under_way += 1;
        Ok(())
    }

    /// The word that the other end writes.
    pub(super) fn told(&self) -> u64 {
        // SAFETY: I3: inside the memory, and aligned. A device writes it, and changes a whole word at once.
        unsafe { self.received.at(0, size_of::<u64>()).cast::<u64>().read_volatile() }
    }

    /// Waits until all writes have completed.
    ///
    /// # Errors
    /// One has failed, or not all have completed in time.
    pub(super) fn finish(&mut self, due: Instant) -> io::Result<()> {
        self.await_that(due, |end| Ok((end.under_way == 0).then_some(())))
    }

    /// Looks, and takes completions, until there is something.
    ///
    /// # Errors
    /// A write has failed, or there is nothing in time.
    pub(super) fn await_that<T>(
        &mut self,
        due: Instant,
        look: impl Fn(&Self) -> io::Result<Option<T>>,
    ) -> io::Result<T> {
        let begin = Instant::now();
        for looks in 1_u32.. {
            if let Some(found) = look(self)? {
                return Ok(found);
            }
            self.take_completions()?;
            if !looks.is_multiple_of(LOOKS) {
                std::hint::spin_loop();
                continue;
            }
            let now = Instant::now();
            if now >= due {
                break;
            }
            // A software device needs a processor, too.
            if now.duration_since(begin) < AWAKE { thread::yield_now() } else { thread::sleep(NAP) }
        }
        Err(self.failed("no answer in time", self.silence))
    }

    fn take_completions(&mut self) -> io::Result<()> {
        let mut completions = [WorkCompletion::default(); DEPTH as usize];
        let found = self.completions.poll(&mut completions)?;
        for completion in &completions[..found] {
            if let Some(failure) = completion.failure() {
                return Err(self.failed(&failure.to_string(), self.advice(failure)));
            }
            self.under_way -= 1;
        }
        Ok(())
    }

    fn failed(&self, why: &str, advice: &str) -> io::Error {
        io::Error::other(format!("RDMA device {}: WRITE: {why}{advice}", self.context.name()))
    }

    /// What to check when a write has failed.
    fn advice(&self, failure: CompletionFailure) -> &'static str {
        match failure.status {
            IBV_WC_RETRY_EXC_ERR | IBV_WC_RESP_TIMEOUT_ERR => self.silence,
            IBV_WC_FATAL_ERR | IBV_WC_GENERAL_ERR => " (the kernel may know more: `dmesg`)",
            _ => "",
        }
    }
}

const NOT_REACHED: &str = " (have both machines a route to the address of the other's port, does a firewall let UDP port 4791 \
                           through, and are both ports in one VLAN or partition?)";
const LARGE_LOST: &str =
    " (small writes have arrived: does the network carry packets as large as the MTU of the ports?)";
