//! What all workers of this node share about one remote node: memory that the node writes, in a domain of its own for
//! each pair of ports.

use crate::fabric::verbs::link::lane_pool::LanePool;
use crate::fabric::verbs::link::places::{FragmentPlaces, FragmentPool};
use crate::fabric::verbs::memory::{ProtectionDomain, RemoteAddress};
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One remote node.
pub(crate) struct RemoteNode {
    /// Its number.
    number: usize,
    /// The workers of this node, and of the remote one.
    workers: Range<usize>,
    peers: Range<usize>,
    rails: Vec<Rail>,
}

/// One pair of ports between the two nodes. Workers share out the pairs: worker `n` of either node writes over pair
/// `n`, modulo their number.
pub(super) struct Rail {
    /// The port of this node.
    port: String,
    domain: Arc<ProtectionDomain>,
    lanes: LanePool,
    pool: FragmentPool,
    /// Bytes from which rows are read directly from their place.
    rendezvous: usize,
    remote: OnceLock<RemoteRail>,
}

/// What is known about the other end of a pair of ports.
struct RemoteRail {
    places: FragmentPlaces,
    reads: Reads,
}

/// The limits of reads between two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reads {
    /// How many of them a queue pair of this end may have under way, and one of the other end.
    pub(super) ours: u8,
    pub(super) theirs: u8,
    /// The most bytes that one read has.
    pub(super) largest: usize,
}

impl RemoteNode {
    /// The node of `peers`, for the `workers` of this one, over ports of this node, each with a domain of its device.
    /// Rows of at least `rendezvous` bytes are read directly from their place.
    ///
    /// # Errors
    /// If there is no memory for its fragments, or it cannot be pinned.
    pub(super) fn new(
        number: usize,
        workers: Range<usize>,
        peers: Range<usize>,
        ports: Vec<(String, Arc<ProtectionDomain>)>,
        rendezvous: usize,
    ) -> io::Result<Arc<Self>> {
        let rails = ports.into_iter().map(|(port, domain)| {
            let (lanes, pool) = (LanePool::new(&domain, workers.clone()), FragmentPool::new(&domain)?);
            Ok(Rail { port, domain, lanes, pool, rendezvous, remote: OnceLock::new() })
        });
        Ok(Arc::new(Self { number, rails: rails.collect::<io::Result<_>>()?, workers, peers }))
    }

    pub(super) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn writers(&self) -> Range<usize> {
        self.workers.clone()
    }

    pub(super) fn peers(&self) -> Range<usize> {
        self.peers.clone()
    }

    pub(super) fn rails(&self) -> &[Rail] {
        &self.rails
    }

    /// The slots that a worker of the remote node writes.
    pub(super) fn lanes_of(&self, writer: usize) -> &LanePool {
        &self.rails[(writer - self.peers.start) % self.rails.len()].lanes
    }
}

impl Rail {
    /// The port of this node.
    pub(super) fn port(&self) -> &str {
        &self.port
    }

    /// Where the remote node writes fragments.
    pub(super) fn pool_address(&self) -> RemoteAddress {
        self.pool.remote()
    }

    /// Says where fragments for the remote node are written, and how the remote node is read. Called once, before
    /// anything is sent.
    ///
    /// # Errors
    /// If there is no memory for fragments, or it cannot be pinned.
    pub(super) fn set_remote(&self, pool: RemoteAddress, reads: Reads) -> io::Result<()> {
        let places = FragmentPlaces::new(&self.domain, pool)?;
        let _first = self.remote.set(RemoteRail { places, reads });
        Ok(())
    }

    pub(super) fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    pub(super) fn lanes(&self) -> &LanePool {
        &self.lanes
    }

    pub(super) fn pool(&self) -> &FragmentPool {
        &self.pool
    }

    pub(super) fn places(&self) -> &FragmentPlaces {
        &self.remote().places
    }

    /// Whether the remote node is to read a row of this many bytes directly from its place.
    pub(super) fn takes_rows_of(&self, bytes: usize) -> bool {
        bytes >= self.rendezvous && self.remote().reads.theirs > 0
    }

    /// How many reads of a queue pair may be under way, and the most bytes of each.
    pub(super) fn reads(&self) -> (usize, usize) {
        let Reads { ours, largest, .. } = self.remote().reads;
        (ours.into(), largest)
    }

    fn remote(&self) -> &RemoteRail {
        match self.remote.get() {
            Some(remote) => remote,
            None => unreachable!("connections are made when both sides know of each other"),
        }
    }
}
