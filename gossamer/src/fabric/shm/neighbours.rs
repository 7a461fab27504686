//! The other nodes of this machine, as the workers of one node see them.

use crate::fabric::shm::{Notifier, Notifiers, Pair};
use crate::sys::sync::eventfd::EventFd;
use std::ops::Range;

/// What another node of this machine shares.
pub(crate) struct Neighbour {
    /// The numbers of its workers among all.
    pub(crate) workers: Range<usize>,
    pub(crate) pair: Pair,
    pub(crate) notifiers: Notifiers,
    /// What its workers are woken with.
    pub(crate) eventfds: Vec<EventFd>,
}

/// All other nodes of this machine.
pub(crate) struct Neighbours {
    /// The workers of this node.
    workers: Range<usize>,
    notifiers: Notifiers,
    /// Ordered by their workers.
    nodes: Vec<Neighbour>,
}

impl Neighbours {
    pub(crate) fn new(workers: Range<usize>, notifiers: Notifiers, mut nodes: Vec<Neighbour>) -> Self {
        nodes.sort_unstable_by_key(|node| node.workers.start);
        Self { workers, notifiers, nodes }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The node of a worker, and its number there.
    #[inline]
    fn find(&self, worker: usize) -> Option<(&Neighbour, usize)> {
        let behind = self.nodes.partition_point(|node| node.workers.start <= worker);
        let node = self.nodes.get(behind.checked_sub(1)?)?;
        node.workers.contains(&worker).then(|| (node, worker - node.workers.start))
    }

    pub(crate) fn has(&self, worker: usize) -> bool {
        self.find(worker).is_some()
    }

    /// The lanes between this node and the node of a worker.
    ///
    /// # Panics
    /// If the worker is not on a neighbour.
    pub(super) fn pair_with(&self, worker: usize) -> &Pair {
        match self.find(worker) {
            Some((node, _)) => &node.pair,
            None => unreachable!("worker {worker} is none of a neighbour"),
        }
    }

    /// What others may touch of a worker of this node.
    #[inline(always)]
    pub(crate) fn notifier(&self, worker: usize) -> Notifier<'_> {
        self.notifiers.of(worker - self.workers.start)
    }

    /// Tells a worker of a neighbour that `sender` has something new.
    pub(super) fn announce(&self, worker: usize, sender: usize) {
        if let Some((node, number)) = self.find(worker) {
            node.notifiers.of(number).announce(sender);
        }
    }

    /// Wakes a worker if it is on a neighbour and sleeps. Call it after publishing what the worker should see.
    #[inline]
    pub(crate) fn ring(&self, worker: usize) {
        let Some((node, number)) = self.find(worker) else { return };
        if node.notifiers.of(number).doorbell().needs_ring()
            && let Err(error) = node.eventfds[number].signal()
        {
            // An eventfd that cannot be written leaves a worker asleep over its work: end the process, do not hang.
            eprintln!("gossamer: cannot wake worker {worker}: {error}");
            std::process::abort();
        }
    }
}
