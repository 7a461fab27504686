//! The nodes of an application, as a worker needs them: the workers of each, and the connections to them.

use crate::fabric::link::LinkEndpoint;
use crate::fabric::shm::{Neighbour, Neighbours, Notifier, Notifiers, ShmEndpoint};
#[cfg(all(test, not(loom)))]
use crate::fabric::sim::{Network, SimEndpoint};
use crate::fabric::tcp::{Proved, Registered, TcpEndpoint};
use crate::fabric::verbs::context::DeviceContext;
use crate::fabric::verbs::link::endpoint::VerbsEndpoint;
use crate::fabric::verbs::link::unconnected::UnconnectedEndpoint;
use crate::sys::sync::eventfd::EventFd;
use std::io;
use std::ops::Range;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};

/// All nodes of an application, by their workers.
pub(crate) struct Peers {
    /// Index of the first worker of each node, and one past the last worker of all.
    firsts: Vec<usize>,
    /// The number of this node.
    node: usize,
    /// The host at which nodes of other machines reach this one.
    host: String,
    /// The name that reports use for all nodes together.
    rack: String,
    neighbours: Arc<Neighbours>,
    /// Connections to other machines that the workers have not taken yet.
    remote: RemoteLinks,
    /// The eventfds with which other nodes wake our workers.
    eventfds: Vec<EventFd>,
    /// The memory that connections write to.
    registered: Arc<Registered>,
}

/// The connections to a node of another machine; empty for nodes of this one. The `n`th has worker `n` of each side,
/// modulo their number, at its ends, and carries what worker `n` writes.
pub(crate) type Sockets = Mutex<Vec<Option<Proved>>>;

/// Connections to nodes of other machines.
pub(crate) struct RemoteLinks {
    /// The connections to each node, by its number.
    pub(crate) sockets: Vec<Sockets>,
    /// Those by RDMA, for each worker of this node.
    pub(crate) verbs: Vec<Mutex<Vec<UnconnectedEndpoint>>>,
    /// The devices of the RDMA connections.
    pub(crate) devices: Vec<Arc<DeviceContext>>,
    /// Takes the place of shared memory.
    #[cfg(all(test, not(loom)))]
    pub(crate) simulated: Option<Arc<Network>>,
}

impl RemoteLinks {
    /// No connections, to this many nodes.
    pub(crate) fn none(nodes: usize) -> Self {
        Self {
            sockets: (0..nodes).map(|_| Sockets::default()).collect(),
            verbs: Vec::new(),
            devices: Vec::new(),
            #[cfg(all(test, not(loom)))]
            simulated: None,
        }
    }
}

/// The connections of a worker to other nodes.
pub(crate) struct Joined {
    pub(crate) endpoint: LinkEndpoint,
    /// The nodes to which it carries what the worker writes.
    pub(crate) writes_to: Vec<usize>,
    /// The node at the other end, if there is only one.
    pub(crate) node: Option<usize>,
}

impl Peers {
    /// `host`: where nodes of other machines reach this one. `rack`: the same at all nodes, and at no others.
    /// `workers`: how many each node has. `neighbours`: the nodes of this machine; `remote`: the ways to nodes of other
    /// machines.
    pub(crate) fn new(
        (node, host, rack): (usize, String, String),
        workers: &[usize],
        neighbours: Vec<Neighbour>,
        remote: RemoteLinks,
        (notifiers, eventfds): (Notifiers, Vec<EventFd>),
    ) -> Self {
        let mut firsts = vec![0];
        firsts.extend(workers.iter().scan(0, |sum, workers| {
            *sum += workers;
            Some(*sum)
        }));
        let ours = firsts[node]..firsts[node + 1];
        let neighbours = Arc::new(Neighbours::new(ours.clone(), notifiers, neighbours));
        let registered = Arc::new(Registered::new(ours));
        Self { firsts, node, host, rack, neighbours, remote, eventfds, registered }
    }

    /// The number of this node.
    pub(crate) fn node(&self) -> usize {
        self.node
    }

    /// The host at which nodes of other machines reach this one.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The name that reports use for all nodes together.
    pub(crate) fn rack(&self) -> &str {
        &self.rack
    }

    pub(crate) fn nodes(&self) -> usize {
        self.firsts.len() - 1
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

    /// The RDMA devices through which other nodes are reached.
    pub(crate) fn devices(&self) -> &[Arc<DeviceContext>] {
        &self.remote.devices
    }

    fn number(&self, worker: usize) -> usize {
        worker - self.firsts[self.node]
    }

    /// What other nodes may touch of a worker of ours.
    #[inline(always)]
    pub(crate) fn notifier(&self, worker: usize) -> Notifier<'_> {
        self.neighbours.notifier(worker)
    }

    /// The eventfd with which other nodes wake a worker of ours, by its number in this node.
    pub(crate) fn eventfd(&self, number: usize) -> impl AsFd {
        &self.eventfds[number]
    }

    /// Wakes a worker of a node that shares memory, if it sleeps. Call this after publishing what it should see.
    /// Workers of other machines are woken by what arrives.
    #[inline]
    pub(crate) fn ring(&self, worker: usize) {
        self.neighbours.ring(worker);
    }

    /// What joins a worker of ours to the other nodes. Called once: the worker takes the ways to them.
    ///
    /// # Errors
    /// If a socket cannot be made non-blocking.
    pub(crate) fn endpoints_of(&self, worker: usize) -> io::Result<Vec<Joined>> {
        let mut joined = Vec::new();
        if !self.neighbours.is_empty() {
            let is_neighbour = |node: &usize| self.neighbours.has(self.firsts[*node]);
            let endpoint = LinkEndpoint::Shm(ShmEndpoint::new(worker, Arc::clone(&self.neighbours)));
            #[cfg(all(test, not(loom)))]
            let endpoint = match &self.remote.simulated {
                Some(network) => LinkEndpoint::Simulated(SimEndpoint::new(worker, Arc::clone(network))),
                None => endpoint,
            };
            joined.push(Joined {
                endpoint,
                writes_to: (0..self.nodes()).filter(is_neighbour).collect(),
                node: None,
            });
        }
        let (number, ours) = (self.number(worker), self.workers_of(self.node).len());
        if let Some(own) = self.remote.verbs.get(number) {
            let own = std::mem::take(&mut *own.lock().unwrap_or_else(PoisonError::into_inner));
            joined.extend(own.into_iter().map(|connected| Joined {
                writes_to: connected.writes_to(),
                endpoint: LinkEndpoint::Verbs(VerbsEndpoint::new(connected)),
                node: None,
            }));
        }
        for (node, sockets) in self.remote.sockets.iter().enumerate() {
            let mut sockets = sockets.lock().unwrap_or_else(PoisonError::into_inner);
            for (index, socket) in sockets.iter_mut().enumerate().filter(|(index, _)| index % ours == number)
            {
                let writer = self.firsts[node] + index % self.workers_of(node).len();
                let Some(socket) = socket.take() else { continue };
                let endpoint = LinkEndpoint::Tcp(TcpEndpoint::new(socket, writer, &self.registered)?);
                let writes_to = if index == number { vec![node] } else { Vec::new() };
                joined.push(Joined { endpoint, writes_to, node: Some(node) });
            }
        }
        Ok(joined)
    }
}
