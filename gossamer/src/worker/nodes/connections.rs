//! A worker's endpoints to other nodes: what arrives on them lands in lane memory of this worker or of another worker
//! of this node; what its own lanes write is sent once a turn.

use crate::counters::trace::{self, EventKind};
use crate::fabric::link::LinkEndpoint;
use crate::fabric::{Endpoint, Event};
use crate::transport::records::Damage;
use crate::wire::refusal::Malformed;
use crate::worker::Worker;
use crate::worker::end::fate;
use crate::worker::fibers::sources::WAKE;
use crate::worker::mailbox::inbox::Message;
use crate::worker::nodes::peers::{Joined, Peers};
use crate::worker::shared::{Phase, Shared};
use mio::Interest;
use mio::unix::SourceFd;
use std::cell::{Cell, RefCell};
use std::fmt::{self, Display, Formatter};
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a node may outlive a connection of its own. Node 0 sees the end of a process sooner, and says what ended.
const OUTLIVES: Duration = Duration::from_secs(2);

/// Bytes for one connection that may wait for those of the next turn: a call costs as much as copying some of them.
/// Fewer bytes are a request or two that a fiber waits for.
const GATHERED: Range<usize> = 2 * 1024..16 * 1024;

/// The endpoints of one worker.
#[derive(Default)]
pub(crate) struct Connections {
    all: Vec<NodeConnection>,
    /// By node: the index of the connection that this worker writes to.
    own: Vec<Option<usize>>,
    /// How many of them are sockets.
    sockets: usize,
}

/// An endpoint, and the node at the other end.
pub(crate) struct NodeConnection {
    endpoint: LinkEndpoint,
    /// `None` if there are several nodes.
    node: Option<usize>,
    /// When it was lost, and how.
    lost: RefCell<Option<(Instant, io::Error)>>,
    is_lost: Cell<bool>,
    /// Bytes that waited at the end of the last turn.
    gathered: Cell<usize>,
}

impl Display for NodeConnection {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        match self.node {
            Some(node) => write!(to, "node {node}"),
            None => to.write_str(self.endpoint.reaches()),
        }
    }
}

impl NodeConnection {
    /// Whether output may wait for more: once for the same output.
    #[inline]
    fn gathers(&self) -> bool {
        let unsent = if self.endpoint.is_socket() { self.endpoint.unsent() } else { 0 };
        GATHERED.contains(&unsent) && self.gathered.replace(unsent) != unsent
    }
}

impl Connections {
    /// The connections of worker `index`, which wake its poller.
    pub(in crate::worker) fn of(shared: &Shared, index: usize, poll: &mio::Poll) -> io::Result<Self> {
        let Some(peers) = &shared.peers else { return Ok(Self::default()) };
        let mut connections = Self { own: vec![None; peers.nodes()], ..Self::default() };
        for Joined { endpoint, writes_to, node } in peers.endpoints_of(index)? {
            if let Some(descriptor) = endpoint.descriptor() {
                let interest = Interest::READABLE | Interest::WRITABLE;
                poll.registry().register(&mut SourceFd(&descriptor), WAKE, interest)?;
            }
            connections.sockets += usize::from(endpoint.is_socket());
            for written in writes_to {
                connections.own[written] = Some(connections.all.len());
            }
            let (lost, is_lost) = (RefCell::default(), Cell::new(false));
            connections.all.push(NodeConnection { endpoint, node, lost, is_lost, gathered: Cell::new(0) });
        }
        Ok(connections)
    }

    /// How many of them take a system call to look at.
    #[inline(always)]
    pub(in crate::worker) fn sockets(&self) -> usize {
        self.sockets
    }

    /// Whether something has arrived, as far as can be told without a system call.
    #[inline(always)]
    pub(in crate::worker) fn have_arrivals(&self) -> bool {
        self.all.iter().any(|connection| connection.endpoint.has_arrivals())
    }

    /// When a connection is lost: how long until this node must not outlive it any more.
    pub(in crate::worker) fn patience(&self) -> Option<Duration> {
        let lost = self.all.iter().filter(|connection| connection.is_lost.get());
        lost.filter_map(|connection| {
            connection.lost.borrow().as_ref().map(|(when, _)| OUTLIVES.saturating_sub(when.elapsed()))
        })
        .min()
    }
}

impl Worker {
    /// The endpoint that carries what this worker writes to the node of another.
    pub(in crate::worker) fn endpoint_to(&self, worker: usize) -> &LinkEndpoint {
        let node = self.shared.peers.as_ref().map(|peers| peers.node_of(worker));
        match node.and_then(|node| self.nodes.connections.own[node]) {
            Some(own) => &self.nodes.connections.all[own].endpoint,
            None => unreachable!("every worker has an endpoint to every other node"),
        }
    }

    /// Takes what has arrived. Returns whether anything had.
    #[inline]
    pub(in crate::worker) fn hear_nodes(&self) -> bool {
        let mut busy = false;
        for connection in &self.nodes.connections.all {
            if connection.is_lost.get() {
                self.outlive(connection);
                continue;
            }
            match connection.endpoint.poll(|event| self.take_event(event)) {
                Ok(arrived) => busy |= arrived,
                Err(error) => self.lose(connection, error),
            }
        }
        busy
    }

    #[inline]
    fn take_event(&self, event: Event<'_>) -> Result<(), Malformed> {
        match event {
            Event::Landed(reader) if reader == self.index => {}
            Event::Landed(reader) => self.shared.mailbox(reader).ring(),
            Event::Lane(lane, requests) => {
                let connect = Message::ConnectNode { from: lane.writer, requests };
                // Refused only once the runtime has ended.
                let _ended = self.shared.mailbox(lane.reader).send(connect);
            }
            // The request for it follows.
            Event::Fragment { writer, reader, fragment } => {
                self.shared.mailbox(reader).incoming.arrive(writer, fragment)?;
                // The writer may wait for room.
                self.shared.ring(writer);
            }
            Event::Row { writer, reader, ticket, row } => {
                self.shared.mailbox(reader).incoming.arrive_whole(writer, ticket, row)?;
            }
        }
        Ok(())
    }

    /// Sends what the lanes of this worker have written. `heard`: something has arrived in this turn, so another turn
    /// follows at once, and may write more.
    #[inline]
    pub(in crate::worker) fn flush_connections(&self, heard: bool) {
        if self.fibers.scheduler.is_traced.get() {
            return self.flush_traced(heard);
        }
        self.flush_all(heard);
    }

    #[cold]
    fn flush_traced(&self, heard: bool) {
        let written = self.nodes.connections.all.iter().filter(|connection| connection.endpoint.unsent() > 0);
        let (count, start) = (written.count() as u16, trace::now());
        self.flush_all(heard);
        if let Some(ring) = self.counters.trace.as_ref().filter(|_| count > 0) {
            ring.push(trace::TraceEvent { count, ..trace::TraceEvent::since(EventKind::Flush, start) });
        }
    }

    /// Sends the batches that a long turn has filled so far: other nodes serve them meanwhile.
    #[cold]
    pub(in crate::worker) fn send_early(&self) {
        if self.nodes.connections.sockets > 0 {
            self.flush_connections(false);
        }
    }

    #[inline(always)]
    fn flush_all(&self, heard: bool) {
        for connection in self.nodes.connections.all.iter().filter(|connection| !connection.is_lost.get()) {
            if heard && connection.gathers() {
                continue;
            }
            connection.gathered.set(0);
            if let Err(error) = connection.endpoint.flush() {
                self.lose(connection, error);
            }
        }
    }

    /// Makes the connections wake this worker, which is about to sleep.
    pub(in crate::worker) fn arm_connections(&self) {
        for connection in self.nodes.connections.all.iter().filter(|connection| !connection.is_lost.get()) {
            if let Err(error) = connection.endpoint.arm() {
                self.lose(connection, error);
            }
        }
    }

    #[cold]
    fn lose(&self, connection: &NodeConnection, error: io::Error) {
        if let Some(damage) = error.get_ref().and_then(|error| error.downcast_ref::<Damage>()) {
            self.damaged(damage);
        }
        if error.kind() == io::ErrorKind::InvalidData {
            self.not_understood(connection, &error);
        }
        connection.is_lost.set(true);
        connection.lost.borrow_mut().get_or_insert((Instant::now(), error));
    }

    /// A connection is lost. At the end of the application that is normal. If a process died, node 0 ends all nodes.
    /// Otherwise this node ends them, since what it sends and waits for no longer gets through.
    #[cold]
    fn outlive(&self, connection: &NodeConnection) {
        let lost = connection.lost.borrow();
        let Some((when, error)) = lost.as_ref() else { return };
        if when.elapsed() > OUTLIVES && self.shared.phase() != Phase::Ended {
            let node = self.shared.peers.as_ref().map_or(0, Peers::node);
            fate::end(&format!("node {node} has lost its connection to {connection}: {error}"));
        }
    }
}
