//! How two nodes connect their queue pairs, step by step: what each tells the other, until both have seen that they
//! reach each other.
//!
//! ```text
//! new       domains, completion queues and queue pairs of this node
//! offer     what the remote node has to know of them
//! receive   what it has told: from now on it may write
//! probe     (once it has said that it receives) writes nothing, and awaits that this was taken
//! connect   (once it has said that its writes were taken): the workers may have it
//! ```

use crate::fabric::connections;
use crate::fabric::verbs::choice::address::LARGEST_PACKET;
use crate::fabric::verbs::choice::pairs::PortPair;
use crate::fabric::verbs::choice::settings::VerbsSettings;
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::link::remote_node::{Reads, RemoteNode};
use crate::fabric::verbs::link::unconnected::{RemoteWorker, UnconnectedEndpoint, UnconnectedPair};
use crate::fabric::verbs::memory::{ProtectionDomain, RemoteAddress};
use crate::fabric::verbs::queue_pair::{Persistence, RemoteQueuePair};
use crate::sys::memory::device_memory::forks_copy_pinned_pages;
use crate::transport::random::random;
use gossamer_macros::NoRef;
use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

/// Reads of a queue pair that may be under way, if both devices allow as many: enough that a device never waits for the
/// next one.
const MOST_READS: u8 = 4;
/// Some devices reject zero.
const LEAST_READS: u8 = 1;
/// Bytes of a read, if both ports allow as many.
const LARGEST_READ: u32 = 1 << 20;

/// A remote node that RDMA is to reach.
pub(crate) struct ReachedNode {
    pub(crate) number: usize,
    pub(crate) workers: Range<usize>,
    /// The ports of both, at least one pair of them.
    pub(crate) ports: Vec<PortPair>,
    /// Which end of these pairs this node is: the lower one of two nodes is 0.
    pub(crate) end: usize,
}

/// What a node tells another about a queue pair.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OfferedQueuePair {
    number: u32,
    first_packet: u32,
    /// Its mailbox: address and key.
    inbox: (u64, u32),
}

/// What a node tells another about everything between them.
#[derive(NoRef, Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferedQueuePairs {
    /// This end of each pair of ports.
    rails: Vec<OfferedRail>,
    queue_pairs: Vec<OfferedQueuePair>,
}

/// What a node tells another about its end of a pair of ports.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
struct OfferedRail {
    /// Where fragments are written: address and key.
    pool: (u64, u32),
    /// Reads under way that its device starts for a queue pair, and that it answers.
    reads_sent: u8,
    reads_received: u8,
    /// The most bytes that a message has.
    largest_message: u32,
}

impl OfferedRail {
    /// The limits of reads of this node's end, once it has heard from the other end.
    fn reads(&self, theirs: &Self) -> Reads {
        let largest = self.largest_message.min(theirs.largest_message);
        Reads {
            ours: self.reads_sent.min(theirs.reads_received).min(MOST_READS),
            theirs: self.reads_received.min(theirs.reads_sent).min(MOST_READS),
            // A message has at least as many bytes as a packet.
            largest: largest.clamp(LARGEST_PACKET, LARGEST_READ) as usize,
        }
    }
}

/// All queue pairs of this node, and what they are for.
pub(crate) struct VerbsSetup {
    settings: VerbsSettings,
    workers: Range<usize>,
    devices: Vec<Arc<DeviceContext>>,
    /// For each worker, one for each device.
    endpoints: Vec<Vec<UnconnectedEndpoint>>,
    remotes: Vec<Remote>,
}

struct Remote {
    reached: ReachedNode,
    node: Arc<RemoteNode>,
    /// What is offered to the other node.
    rails: Vec<OfferedRail>,
    /// By the number of the connection.
    pairs: Vec<UnconnectedPair>,
    /// What the other node offers.
    offered: Option<OfferedQueuePairs>,
}

impl Remote {
    /// What the other node has told about each queue pair.
    fn offers(&self) -> &[OfferedQueuePair] {
        self.offered.as_ref().map_or(&[], |offered| &offered.queue_pairs)
    }

    /// The limits of reads over the pair of ports of a connection, once the other node has told its own.
    fn reads(&self, connection: usize) -> Reads {
        let rail = self.reached.rail(connection);
        let theirs = self.offered.as_ref().map_or(self.rails[rail], |offered| offered.rails[rail]);
        self.rails[rail].reads(&theirs)
    }
}

impl OfferedQueuePair {
    fn mailbox(self) -> RemoteAddress {
        RemoteAddress { address: self.inbox.0, key: self.inbox.1 }
    }
}

impl ReachedNode {
    /// The index of the pair of ports of a connection.
    fn rail(&self, connection: usize) -> usize {
        connection % self.ports.len()
    }

    /// The device of this node that a connection uses.
    fn device(&self, connection: usize) -> &str {
        &self.ports[self.rail(connection)].ends[self.end].device
    }
}

impl VerbsSetup {
    /// Makes what this node needs for all other nodes that it reaches by RDMA.
    ///
    /// # Errors
    /// A device has too little of something left, or memory cannot be pinned.
    pub(crate) fn new(
        devices: Vec<Arc<DeviceContext>>,
        settings: VerbsSettings,
        workers: Range<usize>,
        reached: Vec<ReachedNode>,
    ) -> io::Result<Self> {
        let mut endpoints = Vec::with_capacity(workers.len());
        for number in 0..workers.len() {
            let on_device = |device: &Arc<DeviceContext>| {
                let of_node = |node: &ReachedNode| {
                    (number..connections(workers.len(), node.workers.len()))
                        .step_by(workers.len())
                        .filter(|connection| node.device(*connection) == device.name())
                        .count()
                };
                let count = reached.iter().map(of_node).sum::<usize>().max(1);
                UnconnectedEndpoint::new(device, workers.start + number, count)
            };
            endpoints.push(devices.iter().map(on_device).collect::<io::Result<_>>()?);
        }
        let mut setup = Self { settings, workers, devices, endpoints, remotes: Vec::new() };
        for reached in reached {
            let remote = setup.remote(reached)?;
            setup.remotes.push(remote);
        }
        Ok(setup)
    }

    fn remote(&self, reached: ReachedNode) -> io::Result<Remote> {
        let ports = reached.ports.iter().map(|pair| {
            let end = &pair.ends[reached.end];
            let domain = ProtectionDomain::new(&self.devices[self.device(&end.device)?])?;
            Ok((format!("{}:{}", end.device, end.port), domain))
        });
        let ports = ports.collect::<io::Result<_>>()?;
        let rendezvous = if forks_copy_pinned_pages() { self.settings.rendezvous } else { usize::MAX };
        let workers = (self.workers.clone(), reached.workers.clone());
        let node = RemoteNode::new(reached.number, workers.0, workers.1, ports, rendezvous)?;
        let rails = reached.ports.iter().zip(node.rails()).map(|(pair, rail)| {
            let end = &pair.ends[reached.end];
            let device = &self.devices[self.device(&end.device)?];
            let (limits, pool) = (device.limits()?, rail.pool_address());
            Ok(OfferedRail {
                pool: (pool.address, pool.key),
                reads_sent: limits.reads_sent,
                reads_received: limits.reads_received,
                largest_message: device.largest_message(end.port)?,
            })
        });
        let rails = rails.collect::<io::Result<_>>()?;
        let pairs = (0..connections(self.workers.len(), reached.workers.len())).map(|connection| {
            let number = connection % self.workers.len();
            let peer = reached.workers.start + connection % reached.workers.len();
            let device = self.device(reached.device(connection))?;
            let first_packet = u32::from_ne_bytes(random()?) >> 8;
            let remote = RemoteWorker {
                node: Arc::clone(&node),
                peer,
                rail: reached.rail(connection),
                is_own: connection == number,
            };
            let (queue, place) = (&self.endpoints[number][device].queue, (number, device));
            UnconnectedPair::new(remote, queue, place, first_packet)
        });
        Ok(Remote { rails, pairs: pairs.collect::<io::Result<_>>()?, reached, node, offered: None })
    }

    fn device(&self, name: &str) -> io::Result<usize> {
        let place = self.devices.iter().position(|device| device.name() == name);
        place.ok_or_else(|| io::Error::other(format!("RDMA device {name} is not there any more")))
    }

    fn remote_of(&mut self, node: usize) -> io::Result<&mut Remote> {
        let found = self.remotes.iter_mut().find(|remote| remote.reached.number == node);
        found.ok_or_else(|| io::Error::other(format!("node {node} is not reached by RDMA")))
    }

    /// What a remote node has to know.
    ///
    /// # Errors
    /// It is not one of the nodes that RDMA reaches.
    pub(crate) fn offer(&mut self, node: usize) -> io::Result<OfferedQueuePairs> {
        let remote = self.remote_of(node)?;
        let queue_pairs = remote.pairs.iter().map(|pair| OfferedQueuePair {
            number: pair.number(),
            first_packet: pair.first_packet(),
            inbox: (pair.inbox().address, pair.inbox().key),
        });
        Ok(OfferedQueuePairs { rails: remote.rails.clone(), queue_pairs: queue_pairs.collect() })
    }

    /// Takes what a remote node has told: from now on it may write.
    ///
    /// # Errors
    /// It does not fit, its address cannot be reached, or the device is gone.
    pub(crate) fn receive(&mut self, node: usize, offered: OfferedQueuePairs) -> io::Result<()> {
        let settings = self.settings.clone();
        let remote = self.remote_of(node)?;
        if offered.queue_pairs.len() != remote.pairs.len() || offered.rails.len() != remote.rails.len() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("node {node} offers other queue pairs"),
            ));
        }
        let offered = remote.offered.insert(offered);
        let reads: Vec<_> =
            remote.rails.iter().zip(&offered.rails).map(|(ours, theirs)| ours.reads(theirs)).collect();
        for (connection, (pair, theirs)) in remote.pairs.iter().zip(&offered.queue_pairs).enumerate() {
            let ports = &remote.reached.ports[remote.reached.rail(connection)];
            pair.receive(&RemoteQueuePair {
                number: theirs.number,
                first_packet: theirs.first_packet,
                address: ports.way(remote.reached.end, &settings),
                mtu: ports.mtu,
                reads: reads[remote.reached.rail(connection)].theirs.max(LEAST_READS),
            })?;
        }
        for ((rail, theirs), reads) in remote.node.rails().iter().zip(&offered.rails).zip(reads) {
            let (address, key) = theirs.pool;
            rail.set_remote(RemoteAddress { address, key }, reads)?;
        }
        Ok(())
    }

    /// Makes an empty write to the workers of nodes that receive, and waits for its acknowledgement. Returns why, for
    /// each node that was not reached.
    ///
    /// # Errors
    /// The device is gone.
    pub(crate) fn probe(&self, nodes: &[usize], due: Instant) -> io::Result<HashMap<usize, String>> {
        let persistence = Persistence { timeout: self.settings.timeout, retries: self.settings.retries };
        let probed = || self.remotes.iter().filter(|remote| nodes.contains(&remote.reached.number));
        for remote in probed() {
            for (connection, (pair, theirs)) in remote.pairs.iter().zip(remote.offers()).enumerate() {
                let reads = remote.reads(connection).ours.max(LEAST_READS);
                pair.probe(theirs.mailbox(), reads, persistence)?;
            }
        }
        let mut unreached = HashMap::new();
        for (number, endpoints) in self.endpoints.iter().enumerate() {
            for (device, endpoint) in endpoints.iter().enumerate() {
                let is_here = |pair: &&UnconnectedPair| pair.place() == (number, device);
                let here = || {
                    let pairs = |remote: &'_ Remote| {
                        let node = remote.reached.number;
                        remote
                            .pairs
                            .iter()
                            .filter(is_here)
                            .map(move |pair| (node, pair.number()))
                            .collect::<Vec<_>>()
                    };
                    probed().flat_map(pairs)
                };
                let ended = endpoint.await_probes(here().map(|(_, pair)| pair).collect(), due)?;
                for (node, pair) in here() {
                    let why = match ended.get(&pair) {
                        Some(None) => continue,
                        Some(Some(failure)) => failure.to_string(),
                        None => "no answer in time".to_owned(),
                    };
                    let why = format!("by RDMA device {}: {why}", self.devices[device].name());
                    unreached.entry(node).or_insert(why);
                }
            }
        }
        Ok(unreached)
    }

    /// Gives each worker what it needs for these nodes; the queue pairs to others are dropped.
    pub(crate) fn connect(mut self, nodes: &[usize]) -> Vec<Vec<UnconnectedEndpoint>> {
        for remote in self.remotes.drain(..).filter(|remote| nodes.contains(&remote.reached.number)) {
            let Remote { pairs, offered, .. } = remote;
            let offers = offered.map_or(Vec::new(), |offered| offered.queue_pairs);
            for (pair, theirs) in pairs.into_iter().zip(offers) {
                let (number, device) = pair.place();
                self.endpoints[number][device].connected.push(pair.connected(theirs.mailbox()));
            }
        }
        for endpoints in &mut self.endpoints {
            endpoints.retain(|endpoint| !endpoint.connected.is_empty());
        }
        self.endpoints
    }
}
