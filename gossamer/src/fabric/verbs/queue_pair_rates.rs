//! Figures 12 and 13 of the Gossamer thesis: writes to all workers of a node over one queue pair for each pair of
//! workers, and over one for each worker. These are measurements, which the RDMA benchmark runs by their names: raw
//! writes are not part of the library's interface.
#![expect(clippy::unwrap_used, reason = "a test fails by it")]

use crate::fabric::verbs::abi::Verbs;
use crate::fabric::verbs::choice::pairs::{PortPair, pairs};
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::completion::{CompletionQueue, WorkCompletion};
use crate::fabric::verbs::context::{DeviceContext, DeviceList};
use crate::fabric::verbs::memory::{MemoryRegion, ProtectionDomain, RegionAccess, RemoteAddress};
use crate::fabric::verbs::queue_pair::{Persistence, QueuePair, QueuePairCapacity, RemoteQueuePair};
use crate::fabric::verbs::send_chain::{Payload, SendChain, Signal};
use crate::fabric::verbs::survey::survey;
use crate::fabric::watchdog;
use crate::sys::memory::device_memory::DeviceMemory;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

/// How long each measurement takes.
const TIME: Duration = Duration::from_millis(500);
/// Workers of either node.
const WORKERS: [usize; 4] = [1, 2, 4, 8];
/// Work requests of a send queue. One in this many is signalled.
const SENDS: u64 = 128;
const SIGNALLED: u64 = 16;

/// A queue pair to the other node, and one there that takes its writes.
struct Connection {
    near: QueuePair,
    _far: QueuePair,
    chain: SendChain,
    posted: u64,
    done: u64,
}

impl Connection {
    fn new(domain: &Arc<ProtectionDomain>, queues: [&Arc<CompletionQueue>; 2], ports: &PortPair) -> Self {
        let wished = QueuePairCapacity { sends: SENDS as u32, receives: 1, gather: 1, inline: 256 };
        let pair = |queue| QueuePair::new(domain, queue, queue, wished).unwrap();
        let ends = queues.map(pair);
        let settings = VerbsSettings::default();
        for (at, end) in ends.iter().enumerate() {
            end.initialize(ports.ends[at].port).unwrap();
            let (number, address) = (ends[1 - at].number(), ports.way(at, &settings));
            let remote = RemoteQueuePair { number, first_packet: 0, address, mtu: ports.mtu, reads: 1 };
            end.receive_from(&remote).unwrap();
            let persistence = Persistence { timeout: settings.timeout, retries: settings.retries };
            end.send_from(0, 1, persistence).unwrap();
        }
        let [near, far] = ends;
        let chain = SendChain::new(SENDS as usize, 1, near.granted().inline as usize);
        Self { near, _far: far, chain, posted: 0, done: 0 }
    }

    fn has_room(&self, writes: usize) -> bool {
        self.posted - self.done + writes as u64 <= SENDS
    }

    fn write(&mut self, payload: Payload<'_>, to: RemoteAddress) {
        self.posted += 1;
        let signal = Signal { id: self.posted, always: self.posted.is_multiple_of(SIGNALLED) };
        self.chain.write(payload, to, None, signal);
    }
}

/// A worker that writes to each worker of the other node in each of its turns.
struct Writer {
    connections: Vec<Connection>,
    queue: Arc<CompletionQueue>,
    source: Arc<MemoryRegion>,
    _target: Arc<MemoryRegion>,
    targets: Vec<RemoteAddress>,
    bytes: usize,
}

impl Writer {
    /// With this many queue pairs for as many workers there as there are `workers`.
    fn new(
        (context, ports): &(Arc<DeviceContext>, PortPair),
        queue_pairs: usize,
        workers: usize,
        bytes: usize,
    ) -> Self {
        let domain = ProtectionDomain::new(context).unwrap();
        let completions =
            || CompletionQueue::new(context, (queue_pairs as u64 * SENDS) as u32, None).unwrap();
        let (queue, unused) = (completions(), completions());
        let region = |access| {
            let memory = DeviceMemory::map(workers * bytes).unwrap();
            MemoryRegion::new(&domain, memory, access).unwrap()
        };
        let target = region(RegionAccess::RemoteWrite);
        Self {
            connections: (0..queue_pairs)
                .map(|_| Connection::new(&domain, [&queue, &unused], ports))
                .collect(),
            source: region(RegionAccess::Source),
            targets: (0..workers).map(|worker| target.remote(worker * bytes)).collect(),
            _target: target,
            queue,
            bytes,
        }
    }

    /// Writes to each worker of the other node, with one call for each queue pair.
    fn turn(&mut self) {
        let (pairs, entry) = (self.connections.len(), [self.source.entry(0..self.bytes)]);
        let copied = [7; 256];
        let is_inline = self.connections[0].near.granted().inline as usize >= self.bytes;
        let payload =
            if is_inline { Payload::Inline(&copied[..self.bytes]) } else { Payload::Registered(&entry) };
        let at_once = self.targets.len() / pairs;
        while !self.connections.iter().all(|connection| connection.has_room(at_once)) {
            self.take_completions();
        }
        for (worker, to) in self.targets.iter().enumerate() {
            self.connections[worker % pairs].write(payload, *to);
        }
        for connection in &mut self.connections {
            connection.near.post(&mut connection.chain).unwrap();
        }
    }

    fn take_completions(&mut self) {
        let mut completions = [WorkCompletion::default(); 16];
        let count = self.queue.poll(&mut completions).unwrap();
        for completion in &completions[..count] {
            assert_eq!(completion.failure(), None);
            let mut all = self.connections.iter_mut();
            let connection = all.find(|known| known.near.number() == completion.queue_pair()).unwrap();
            connection.done = completion.id();
        }
        if count == 0 {
            // A software device may need the processor.
            thread::yield_now();
        }
    }

    /// Writes until the time is up and the last write is known to be done. Returns how many writes it made.
    fn work(mut self, begin: &Barrier) -> u64 {
        begin.wait();
        let due = Instant::now() + TIME;
        while Instant::now() < due {
            (0..SIGNALLED).for_each(|_| self.turn());
        }
        while self.connections.iter().any(|connection| connection.done < connection.posted) {
            self.take_completions();
        }
        self.connections.iter().map(|connection| connection.posted).sum()
    }
}

/// Writes per second of all workers together.
fn rate(device: &(Arc<DeviceContext>, PortPair), workers: usize, queue_pairs: usize, bytes: usize) -> f64 {
    let begin = Barrier::new(workers);
    let writers: Vec<Writer> =
        (0..workers).map(|_| Writer::new(device, queue_pairs, workers, bytes)).collect();
    let start = Instant::now();
    let done: u64 = thread::scope(|scope| {
        let started: Vec<_> = writers.into_iter().map(|writer| scope.spawn(|| writer.work(&begin))).collect();
        started.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    done as f64 / start.elapsed().as_secs_f64()
}

#[test]
#[ignore = "it measures"]
fn writes_over_a_queue_pair_for_each_pair_of_workers_and_over_one_for_each_worker() {
    let _watched = watchdog::watch();
    let found = survey(&DeviceList::of(Verbs::of_tests()).unwrap(), &VerbsSettings::default()).unwrap();
    let ports = pairs(&found.offers, &found.offers).unwrap().remove(0);
    let device = (Arc::clone(&found.devices[0]), ports);
    for bytes in [32, 256] {
        for workers in WORKERS {
            for (name, queue_pairs) in [("each-pair", workers), ("each-worker", 1)] {
                let rate = rate(&device, workers, queue_pairs, bytes);
                println!("measured {name}/{bytes}/{workers} {rate}");
            }
        }
    }
}
