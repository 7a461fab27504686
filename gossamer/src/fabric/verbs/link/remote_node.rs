//! What all workers of this node share of one remote node: memory that it writes, in a domain of its own for each pair of ports.

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
    /// The workers of this node, and of that one.
    workers: Range<usize>,
    peers: Range<usize>,
    rails: Vec<Rail>,
}

/// What goes over one pair of ports. Workers share out the pairs: the `n`th of either node writes over the `n`th pair, modulo their number.
pub(super) struct Rail {
    /// The port of this node.
    port: String,
    domain: Arc<ProtectionDomain>,
    lanes: LanePool,
    pool: FragmentPool,
    places: OnceLock<FragmentPlaces>,
}

impl RemoteNode {
    /// The node of `peers`, for the `workers` of this one, over ports of this node, each with a domain of its device.
    ///
    /// # Errors
    /// If there is no memory for its fragments, or it cannot be pinned.
    pub(super) fn new(
        number: usize,
        workers: Range<usize>,
        peers: Range<usize>,
        ports: Vec<(String, Arc<ProtectionDomain>)>,
    ) -> io::Result<Arc<Self>> {
        let rails = ports.into_iter().map(|(port, domain)| {
            let (lanes, pool) = (LanePool::new(&domain, workers.clone()), FragmentPool::new(&domain)?);
            Ok(Rail { port, domain, lanes, pool, places: OnceLock::new() })
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

    /// Says where fragments for the remote node are written. Once, before any is sent.
    ///
    /// # Errors
    /// If there is no memory for them, or it cannot be pinned.
    pub(super) fn set_pool(&self, remote: RemoteAddress) -> io::Result<()> {
        let _first = self.places.set(FragmentPlaces::new(&self.domain, remote)?);
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
        match self.places.get() {
            Some(places) => places,
            None => unreachable!("connections are made when both sides know where fragments go"),
        }
    }
}
