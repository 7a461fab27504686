//! The workers of other nodes, as a worker needs them: where their lanes are, and how to wake them.

use crate::fabric::bulk::Places;
use crate::fabric::cable::{Cable, Landing};
use crate::fabric::shm::{Pair, Porch, Porches};
use crate::fabric::{Endpoint, Lane, SlotMemory};
use crate::sys::sync::eventfd::EventFd;
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

/// All nodes of an application, by their workers.
pub(crate) struct Peers {
    /// Index of the first worker of each node, and of one past the last of all.
    firsts: Vec<usize>,
    /// The number of this node.
    node: usize,
    /// The host at which nodes of other machines reach this one.
    host: String,
    /// By node; none for this one.
    ways: Vec<Option<Way>>,
    porches: Porches,
    /// What other nodes wake our workers with.
    bells: Vec<EventFd>,
    /// What connections land in.
    landing: Arc<Landing>,
}

/// How another node is reached.
pub(crate) enum Way {
    /// It is on this machine.
    Memory(Neighbour),
    /// It is on another one: connections that the workers have not taken yet. The `n`th has worker `n` of each side, modulo
    /// their number, at its ends, and carries what worker `n` writes.
    Wires(Mutex<Vec<Option<TcpStream>>>),
}

/// What another node of this machine shares.
pub(crate) struct Neighbour {
    pub(crate) pair: Pair,
    pub(crate) porches: Porches,
    pub(crate) bells: Vec<EventFd>,
}

impl Peers {
    /// `host`: where nodes of other machines reach this one. `workers`: how many each node has. `ways`: one to each other node.
    pub(crate) fn new(
        node: usize,
        host: String,
        workers: &[usize],
        ways: Vec<Option<Way>>,
        porches: Porches,
        bells: Vec<EventFd>,
    ) -> Self {
        let mut firsts = vec![0];
        firsts.extend(workers.iter().scan(0, |sum, workers| {
            *sum += workers;
            Some(*sum)
        }));
        let landing = Arc::new(Landing::new(firsts[node]..firsts[node + 1]));
        Self { firsts, node, host, ways, porches, bells, landing }
    }

    /// The number of this node.
    pub(crate) fn node(&self) -> usize {
        self.node
    }

    /// The host at which nodes of other machines reach this one.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    pub(crate) fn nodes(&self) -> usize {
        self.ways.len()
    }

    /// The workers of a node.
    pub(crate) fn workers_of(&self, node: usize) -> Range<usize> {
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

    /// A neighbour that has a worker, and the worker's number there.
    #[inline]
    fn neighbour(&self, worker: usize) -> Option<(&Neighbour, usize)> {
        let node = self.node_of(worker);
        match &self.ways[node] {
            Some(Way::Memory(neighbour)) => Some((neighbour, worker - self.firsts[node])),
            _ => None,
        }
    }

    fn number(&self, worker: usize) -> usize {
        worker - self.firsts[self.node]
    }

    /// Takes the lane from a worker of ours to one of a node that shares memory into use: the way to its requests, and its
    /// responses.
    pub(crate) fn connect(&self, from: usize, to: usize) -> Option<(Arc<SlotMemory>, Arc<SlotMemory>)> {
        let (Neighbour { pair, porches, .. }, number) = self.neighbour(to)?;
        pair.open(from, to);
        porches.of(number).announce();
        Some((pair.connect(Lane::requests(from, to)), pair.register(Lane::responses(from, to))))
    }

    /// The lane from a worker of a node that shares memory to one of ours, if it is in use: its requests, and the way to its
    /// responses.
    pub(crate) fn connected(&self, from: usize, to: usize) -> Option<(Arc<SlotMemory>, Arc<SlotMemory>)> {
        let (Neighbour { pair, .. }, _) = self.neighbour(from)?;
        let slots = || (pair.register(Lane::requests(from, to)), pair.connect(Lane::responses(from, to)));
        pair.is_open(from, to).then(slots)
    }

    /// Where large values go from a worker to another, if their nodes share memory.
    pub(crate) fn places(&self, from: usize, to: usize) -> Option<Places> {
        let other = if self.workers_of(self.node).contains(&from) { to } else { from };
        Some(self.neighbour(other)?.0.pair.places(from, to))
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

    /// Wakes a worker of a node that shares memory, if it sleeps. Call it after publishing what it should see. Others are woken
    /// by what arrives.
    #[inline]
    pub(crate) fn ring(&self, worker: usize) {
        let Some((neighbour, number)) = self.neighbour(worker) else { return };
        if neighbour.porches.of(number).doorbell.needs_ring()
            && let Err(error) = neighbour.bells[number].signal()
        {
            // A bell that cannot be rung leaves a worker asleep over its work: end, do not hang.
            eprintln!("gossamer: cannot wake worker {worker}: {error}");
            std::process::abort();
        }
    }

    /// The connections that a worker of ours reads: the node at the other end, whether it carries what our worker writes, and
    /// our end. Once.
    ///
    /// # Errors
    /// If a socket cannot be had not to block.
    pub(crate) fn take_connections(&self, worker: usize) -> io::Result<Vec<(usize, bool, Cable)>> {
        let (number, ours) = (self.number(worker), self.workers_of(self.node).len());
        let mut taken = Vec::new();
        for (node, way) in self.ways.iter().enumerate() {
            let Some(Way::Wires(sockets)) = way else { continue };
            let mut sockets = sockets.lock().unwrap_or_else(PoisonError::into_inner);
            for (index, socket) in sockets.iter_mut().enumerate().filter(|(index, _)| index % ours == number)
            {
                let writer = self.firsts[node] + index % self.workers_of(node).len();
                if let Some(socket) = socket.take() {
                    taken.push((node, index == number, Cable::new(socket, writer, &self.landing)?));
                }
            }
        }
        Ok(taken)
    }

    /// How many connections two nodes have.
    pub(crate) fn connections(ours: usize, theirs: usize) -> usize {
        ours.max(theirs)
    }
}
