//! The workers of other nodes, as a worker needs them: where their lanes are, and how to wake them.

use crate::fabric::SlotMemory;
use crate::fabric::bulk::Places;
use crate::fabric::shm::{LaneMemory, Pair, Porch, Porches};
use crate::fabric::tcp::{self, Slots};
use crate::sys::bell::Bell;
use std::collections::HashMap;
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
    /// By node; none for this one.
    ways: Vec<Option<Way>>,
    porches: Porches,
    /// What other nodes wake our workers with.
    bells: Vec<Bell>,
    /// The slots of our workers that frames are landed in.
    landing: Mutex<HashMap<Lane, Arc<SlotMemory>>>,
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
    pub(crate) bells: Vec<Bell>,
}

/// Slots of one direction of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Lane {
    pub(crate) reader: usize,
    pub(crate) writer: usize,
    pub(crate) slots: Slots,
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
        Self { firsts, node, ways, porches, bells, landing: Mutex::default() }
    }

    /// The number of this node.
    pub(crate) fn node(&self) -> usize {
        self.node
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

    /// Makes the lane from a worker of ours to one of a node that shares memory.
    pub(crate) fn connect(&self, from: usize, to: usize) -> Option<LaneMemory> {
        let (neighbour, number) = self.neighbour(to)?;
        let memory = neighbour.pair.connect(self.number(from), number);
        neighbour.porches.of(number).announce();
        Some(memory)
    }

    /// The lane from a worker of a node that shares memory to one of ours, if there is one.
    pub(crate) fn connected(&self, from: usize, to: usize) -> Option<LaneMemory> {
        let (neighbour, number) = self.neighbour(from)?;
        neighbour.pair.connected(number, self.number(to))
    }

    /// Where large values go from a worker of ours to one of a node that shares memory.
    pub(crate) fn places_to(&self, from: usize, to: usize) -> Option<Places> {
        let (neighbour, number) = self.neighbour(to)?;
        Some(neighbour.pair.places(self.number(from), number, false))
    }

    /// Where large values come from a worker of a node that shares memory to one of ours.
    pub(crate) fn places(&self, from: usize, to: usize) -> Option<Places> {
        let (neighbour, number) = self.neighbour(from)?;
        Some(neighbour.pair.places(self.number(to), number, true))
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
            && let Err(error) = neighbour.bells[number].ring()
        {
            // A bell that cannot be rung leaves a worker asleep over its work: end, do not hang.
            eprintln!("gossamer: cannot wake worker {worker}: {error}");
            std::process::abort();
        }
    }

    /// The connections that a worker of ours reads: the node at the other end, the worker whose writes arrive, whether it
    /// carries what our worker writes, and the socket. Once.
    pub(crate) fn take_connections(&self, worker: usize) -> Vec<(usize, usize, bool, TcpStream)> {
        let (number, ours) = (self.number(worker), self.workers_of(self.node).len());
        let mut taken = Vec::new();
        for (node, way) in self.ways.iter().enumerate() {
            let Some(Way::Wires(sockets)) = way else { continue };
            let mut sockets = sockets.lock().unwrap_or_else(PoisonError::into_inner);
            for (index, socket) in sockets.iter_mut().enumerate().filter(|(index, _)| index % ours == number)
            {
                let writer = self.firsts[node] + index % self.workers_of(node).len();
                taken.extend(socket.take().map(|socket| (node, writer, index == number, socket)));
            }
        }
        taken
    }

    /// How many connections two nodes have.
    pub(crate) fn connections(ours: usize, theirs: usize) -> usize {
        ours.max(theirs)
    }

    /// Keeps the slots that responses of a worker of another machine are landed in.
    pub(crate) fn await_responses(&self, reader: usize, writer: usize, memory: &Arc<SlotMemory>) {
        let mut landing = self.landing.lock().unwrap_or_else(PoisonError::into_inner);
        landing.insert(Lane { reader, writer, slots: Slots::Responses }, Arc::clone(memory));
    }

    /// The slots of a lane of ours, and whether they were made for the first request. Responses have slots already.
    pub(crate) fn memory_of(&self, lane: Lane) -> Option<(Arc<SlotMemory>, bool)> {
        let mut landing = self.landing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memory) = landing.get(&lane) {
            return Some((Arc::clone(memory), false));
        }
        if lane.slots == Slots::Responses {
            return None;
        }
        let memory = SlotMemory::with_slots(tcp::SLOTS);
        landing.insert(lane, Arc::clone(&memory));
        Some((memory, true))
    }
}
