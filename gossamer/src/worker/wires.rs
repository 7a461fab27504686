//! A worker's connections to other machines: what arrives on them lands in lane memory, of this worker or of another of this node;
//! what its own lanes write goes out once a turn.

use crate::fabric::cable::Cable;
use crate::fabric::{Endpoint, Event};
use crate::wire::refusal::Malformed;
use crate::worker::inbox::Message;
use crate::worker::peers::Peers;
use crate::worker::readiness::WAKE;
use crate::worker::shared::{Phase, Shared};
use crate::worker::{Worker, fate};
use mio::Interest;
use mio::unix::SourceFd;
use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a node may outlive a connection of its own. Node 0 sees the end of a process sooner, and says what ended.
const OUTLIVES: Duration = Duration::from_secs(2);

/// Bytes for one connection that may wait for those of the next turn: a call costs as much as copying some of them. Fewer are a
/// request or two that somebody waits for.
const GATHERED: Range<usize> = 2 * 1024..16 * 1024;

/// The connections of one worker.
#[derive(Default)]
pub(crate) struct Wires {
    connections: Vec<Connected>,
    /// By node: the one that this worker writes to.
    own: Vec<Option<usize>>,
}

/// Our end of a connection, and who is at the other.
struct Connected {
    cable: Cable,
    node: usize,
    /// When it was lost, and how.
    lost: RefCell<Option<(Instant, io::Error)>>,
    is_lost: Cell<bool>,
    /// Bytes that waited at the end of the last turn.
    gathered: Cell<usize>,
}

impl Connected {
    /// Whether what is to be sent may wait for more: once for the same.
    #[inline]
    fn gathers(&self) -> bool {
        let unsent = self.cable.unsent();
        GATHERED.contains(&unsent) && self.gathered.replace(unsent) != unsent
    }
}

impl Wires {
    /// The connections of worker `index`, which wake its poller.
    pub(super) fn of(shared: &Shared, index: usize, poll: &mio::Poll) -> io::Result<Self> {
        let Some(peers) = &shared.peers else { return Ok(Self::default()) };
        let mut wires = Self { own: vec![None; peers.nodes()], ..Self::default() };
        for (node, is_own, cable) in peers.take_connections(index)? {
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut SourceFd(&cable.descriptor()), WAKE, interest)?;
            if is_own {
                wires.own[node] = Some(wires.connections.len());
            }
            let (lost, is_lost) = (RefCell::default(), Cell::new(false));
            wires.connections.push(Connected { cable, node, lost, is_lost, gathered: Cell::new(0) });
        }
        Ok(wires)
    }

    /// How many connections there are.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.connections.len()
    }

    /// Whether another node is reached by a connection.
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        !self.connections.is_empty()
    }

    /// When a connection is lost: how long until this node is not to outlive it any more.
    pub(super) fn patience(&self) -> Option<Duration> {
        let lost = self.connections.iter().filter(|connected| connected.is_lost.get());
        lost.filter_map(|connected| {
            connected.lost.borrow().as_ref().map(|(when, _)| OUTLIVES.saturating_sub(when.elapsed()))
        })
        .min()
    }
}

impl Worker {
    /// The connection that carries what this worker writes to the node of another.
    pub(super) fn cable_to(&self, peers: &Peers, worker: usize) -> &Cable {
        match self.wires.own[peers.node_of(worker)] {
            Some(own) => &self.wires.connections[own].cable,
            None => unreachable!("every worker has a connection to every other machine"),
        }
    }

    /// Takes what has arrived. Whether anything had.
    pub(super) fn receive_from_wires(&self) -> bool {
        let mut busy = false;
        for connected in &self.wires.connections {
            if connected.is_lost.get() {
                self.outlive(connected);
                continue;
            }
            match connected.cable.poll(|event| self.take_event(event)) {
                Ok(arrived) => busy |= arrived,
                Err(error) => self.lose(connected, error),
            }
        }
        busy
    }

    #[inline]
    fn take_event(&self, event: Event<'_>) -> Result<(), Malformed> {
        match event {
            Event::Landed(reader) if reader == self.index => {}
            Event::Landed(reader) => self.shared.post(reader).ring(),
            Event::Lane(lane, requests) => {
                let connect = Message::ConnectWire { from: lane.writer, requests };
                // Refused only once the runtime has ended.
                let _ended = self.shared.post(lane.reader).send(connect);
            }
            // Of arguments whose request comes behind it.
            Event::Piece { writer, piece } => {
                let ahead = &self.shared.post(piece.worker as usize).ahead;
                ahead.arrive((writer, piece.ticket), piece.part, piece.bytes)?;
            }
        }
        Ok(())
    }

    /// Sends what the lanes of this worker have written. `heard`: something has arrived in this turn, so another follows at once,
    /// and may write more.
    #[inline]
    pub(super) fn flush_wires(&self, heard: bool) {
        for connected in self.wires.connections.iter().filter(|connected| !connected.is_lost.get()) {
            if heard && connected.gathers() {
                continue;
            }
            connected.gathered.set(0);
            if let Err(error) = connected.cable.flush() {
                self.lose(connected, error);
            }
        }
    }

    #[cold]
    fn lose(&self, connected: &Connected, error: io::Error) {
        if error.kind() == io::ErrorKind::InvalidData {
            self.not_understood(connected.node, &error);
        }
        connected.is_lost.set(true);
        connected.lost.borrow_mut().get_or_insert((Instant::now(), error));
    }

    /// A connection is lost. At the end of the application that is how it should be; when a process died node 0 ends all;
    /// otherwise this node does, since what it sends and waits for does not come through any more.
    #[cold]
    fn outlive(&self, connected: &Connected) {
        let lost = connected.lost.borrow();
        let Some((when, error)) = lost.as_ref() else { return };
        if when.elapsed() > OUTLIVES && self.shared.phase() != Phase::Ended {
            let node = self.shared.peers.as_ref().map_or(0, Peers::node);
            fate::end(
                &format!("node {node} has lost its connection to node {}: {error}", connected.node),
                true,
            );
        }
    }
}
