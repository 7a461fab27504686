//! The workers of other nodes, as a worker needs them: where their lanes are, and how to wake them.

use crate::fabric::shm::{LaneMemory, Pair, Porch, Porches};
use crate::sys::bell::Bell;
use std::os::fd::AsFd;

/// All nodes of an application, by their workers.
pub(crate) struct Peers {
    /// Index of the first worker of each node, and of one past the last of all.
    firsts: Vec<usize>,
    /// The number of this node.
    node: usize,
    /// By node; none for this one.
    ways: Vec<Option<Way>>,
    porches: Porches,
    /// What other nodes wake our workers with.
    bells: Vec<Bell>,
}

/// How another node of this machine is reached.
pub(crate) struct Way {
    pub(crate) pair: Pair,
    pub(crate) porches: Porches,
    pub(crate) bells: Vec<Bell>,
}

impl Peers {
    /// `workers`: how many each node has. `ways`: one to each other node.
    pub(crate) fn new(
        node: usize,
        workers: &[usize],
        ways: Vec<Option<Way>>,
        porches: Porches,
        bells: Vec<Bell>,
    ) -> Self {
        let mut firsts = vec![0];
        firsts.extend(workers.iter().scan(0, |sum, workers| {
            *sum += workers;
            Some(*sum)
        }));
        Self { firsts, node, ways, porches, bells }
    }

    /// The number of this node.
    pub(crate) fn node(&self) -> usize {
        self.node
    }

    pub(crate) fn nodes(&self) -> usize {
        self.ways.len()
    }

    /// The workers of a node.
    pub(crate) fn workers_of(&self, node: usize) -> std::ops::Range<usize> {
        self.firsts[node]..self.firsts[node + 1]
    }

    /// The workers of all nodes.
    pub(crate) fn workers(&self) -> usize {
        self.firsts.last().copied().unwrap_or_default()
    }

    /// The node of a worker.
    pub(crate) fn node_of(&self, worker: usize) -> usize {
        self.firsts.partition_point(|first| *first <= worker) - 1
    }

    fn way(&self, worker: usize) -> (&Way, usize) {
        let node = self.node_of(worker);
        match &self.ways[node] {
            Some(way) => (way, worker - self.firsts[node]),
            None => unreachable!("worker {worker} is of this node"),
        }
    }

    fn number(&self, worker: usize) -> usize {
        worker - self.firsts[self.node]
    }

    /// Makes the lane from a worker of ours to one of another node.
    pub(crate) fn connect(&self, from: usize, to: usize) -> LaneMemory {
        let (way, number) = self.way(to);
        let memory = way.pair.connect(self.number(from), number);
        way.porches.of(number).announce();
        memory
    }

    /// The lane from a worker of another node to one of ours, if there is one.
    pub(crate) fn connected(&self, from: usize, to: usize) -> Option<LaneMemory> {
        let (way, number) = self.way(from);
        way.pair.connected(number, self.number(to))
    }

    /// The workers of the other nodes.
    pub(crate) fn others(&self) -> impl Iterator<Item = usize> {
        let ours = self.workers_of(self.node);
        (0..self.workers()).filter(move |worker| !ours.contains(worker))
    }

    /// What other nodes may touch of a worker of ours.
    #[inline(always)]
    pub(crate) fn porch(&self, worker: usize) -> &Porch {
        self.porches.of(self.number(worker))
    }

    /// What other nodes wake a worker of ours with, by its number in this node.
    pub(crate) fn bell(&self, number: usize) -> impl AsFd {
        &self.bells[number]
    }

    /// Wakes a worker of another node if it sleeps. Call it after publishing what it should see.
    #[inline]
    pub(crate) fn ring(&self, worker: usize) {
        let (way, number) = self.way(worker);
        if way.porches.of(number).doorbell.needs_ring()
            && let Err(error) = way.bells[number].ring()
        {
            // A bell that cannot be rung leaves a worker asleep over its work: end, do not hang.
            eprintln!("gossamer: cannot wake worker {worker}: {error}");
            std::process::abort();
        }
    }
}
