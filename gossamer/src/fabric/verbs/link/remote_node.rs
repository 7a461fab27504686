//! What all workers of this node share of one remote node: memory that it writes, in a domain of its own.

use crate::fabric::verbs::link::lane_pool::LanePool;
use crate::fabric::verbs::link::places::{FragmentPlaces, FragmentPool};
use crate::fabric::verbs::memory::{ProtectionDomain, RemoteAddress};
use std::io;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// One remote node.
pub(crate) struct RemoteNode {
    domain: Arc<ProtectionDomain>,
    /// The workers of this node, and of that one.
    workers: Range<usize>,
    peers: Range<usize>,
    lanes: LanePool,
    pool: FragmentPool,
    places: OnceLock<FragmentPlaces>,
}

impl RemoteNode {
    /// The node of `peers`, for the `workers` of this one.
    ///
    /// # Errors
    /// If there is no memory for its fragments, or it cannot be pinned.
    pub(crate) fn new(
        domain: Arc<ProtectionDomain>,
        workers: Range<usize>,
        peers: Range<usize>,
    ) -> io::Result<Arc<Self>> {
        let (lanes, pool) = (LanePool::new(&domain, workers.clone()), FragmentPool::new(&domain)?);
        Ok(Arc::new(Self { domain, workers, peers, lanes, pool, places: OnceLock::new() }))
    }

    /// Where it writes fragments.
    pub(crate) fn pool_address(&self) -> RemoteAddress {
        self.pool.remote()
    }

    /// Says where fragments for it are written. Once, before any is sent.
    ///
    /// # Errors
    /// As `new`.
    pub(crate) fn set_pool(&self, remote: RemoteAddress) -> io::Result<()> {
        let _first = self.places.set(FragmentPlaces::new(&self.domain, remote)?);
        Ok(())
    }

    pub(super) fn domain(&self) -> &Arc<ProtectionDomain> {
        &self.domain
    }

    pub(super) fn writers(&self) -> Range<usize> {
        self.workers.clone()
    }

    pub(super) fn peers(&self) -> Range<usize> {
        self.peers.clone()
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
