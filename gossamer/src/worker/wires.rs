//! A worker's connections to other machines: what arrives on them is landed in lane memory, of this worker or of another of
//! this node; what its own lanes write goes out once a turn.

use crate::fabric::SlotMemory;
use crate::fabric::link::Link;
use crate::fabric::tcp::{Arrival, Connection, Frame, Piece, Slots, Wire};
use crate::wire::value::Malformed;
use crate::worker::inbox::Message;
use crate::worker::peers::{Lane, Peers};
use crate::worker::readiness::WAKE;
use crate::worker::shared::{Phase, Shared};
use crate::worker::{Worker, fate};
use mio::Interest;
use mio::unix::SourceFd;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a node may outlive a connection of its own. Node 0 sees the end of a process sooner, and says what ended.
const OUTLIVES: Duration = Duration::from_secs(2);

/// The connections of one worker.
#[derive(Default)]
pub(crate) struct Wires {
    connections: Vec<Cable>,
    /// By node: the one that this worker writes to.
    own: Vec<Option<Rc<Connection>>>,
    /// Where frames were landed before.
    known: RefCell<HashMap<Lane, Arc<SlotMemory>>>,
}

/// A connection, and who is at its other end.
struct Cable {
    connection: Rc<Connection>,
    node: usize,
    /// Whose writes arrive on it.
    writer: usize,
    /// When it was lost, and how.
    lost: RefCell<Option<(Instant, io::Error)>>,
    is_lost: Cell<bool>,
}

impl Wires {
    /// The connections of worker `index`, which wake its poller.
    pub(super) fn of(shared: &Shared, index: usize, poll: &mio::Poll) -> io::Result<Self> {
        let Some(peers) = &shared.peers else { return Ok(Self::default()) };
        let mut wires = Self { own: (0..peers.nodes()).map(|_| None).collect(), ..Self::default() };
        for (node, writer, is_own, socket) in peers.take_connections(index) {
            let connection = Connection::new(socket)?;
            let interest = Interest::READABLE | Interest::WRITABLE;
            poll.registry().register(&mut SourceFd(&connection.descriptor()), WAKE, interest)?;
            if is_own {
                wires.own[node] = Some(Rc::clone(&connection));
            }
            let (lost, is_lost) = (RefCell::default(), Cell::new(false));
            wires.connections.push(Cable { connection, node, writer, lost, is_lost });
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
        let lost = self.connections.iter().filter(|cable| cable.is_lost.get());
        lost.filter_map(|cable| {
            cable.lost.borrow().as_ref().map(|(when, _)| OUTLIVES.saturating_sub(when.elapsed()))
        })
        .min()
    }
}

impl Cable {
    fn lose(&self, error: io::Error) {
        self.is_lost.set(true);
        self.lost.borrow_mut().get_or_insert((Instant::now(), error));
    }
}

impl Worker {
    /// The way to the slots of a worker of another machine, for the lane between it and this one.
    pub(super) fn wire_to(&self, peers: &Peers, worker: usize, slots: Slots) -> Option<Link> {
        let connection = self.wires.own[peers.node_of(worker)].as_ref()?;
        Some(Link::Wire(Wire { connection: Rc::clone(connection), worker: worker as u32, slots }))
    }

    /// Lands what has arrived. Whether anything had.
    pub(super) fn receive_from_wires(&self) -> bool {
        let mut busy = false;
        for cable in &self.wires.connections {
            if cable.is_lost.get() {
                self.outlive(cable);
                continue;
            }
            let take = |arrival: Arrival<'_>| match arrival {
                Arrival::Frame(frame) => self.land(cable, &frame),
                Arrival::Piece(piece) => self.keep(cable, &piece),
            };
            match cable.connection.receive(take) {
                Ok(arrived) => busy |= arrived,
                Err(error) => cable.lose(error),
            }
        }
        busy
    }

    #[inline]
    fn land(&self, cable: &Cable, frame: &Frame<'_>) {
        let lane = Lane { reader: frame.worker as usize, writer: cable.writer, slots: frame.slots };
        let known = self.wires.known.borrow().get(&lane).cloned();
        let memory = known.unwrap_or_else(|| self.find_memory(cable, lane));
        frame.land(&memory);
        if lane.reader != self.index {
            self.shared.post(lane.reader).ring();
        }
    }

    /// A piece of arguments whose request comes behind it, maybe for another worker.
    fn keep(&self, cable: &Cable, piece: &Piece<'_>) {
        if !self.is_neighbour(piece.worker as usize) {
            self.not_understood(cable.writer, Malformed::instead_of::<Piece<'_>>());
        }
        let ahead = &self.shared.post(piece.worker as usize).ahead;
        ahead.arrive(cable.writer, piece.ticket, piece.total as usize, piece.bytes);
    }

    /// The slots of a lane that the first frame has come for.
    #[cold]
    fn find_memory(&self, cable: &Cable, lane: Lane) -> Arc<SlotMemory> {
        let memory =
            self.shared.peers.as_ref().filter(|_| self.is_neighbour(lane.reader)).and_then(|peers| {
                let (memory, is_new) = peers.memory_of(lane)?;
                if is_new {
                    let connect = Message::ConnectWire { from: lane.writer, requests: Arc::clone(&memory) };
                    // Refused only once the runtime has ended.
                    let _ended = self.shared.post(lane.reader).send(connect);
                }
                Some(memory)
            });
        let memory = memory.unwrap_or_else(|| {
            self.not_understood(cable.writer, Malformed::instead_of::<Frame<'_>>());
        });
        self.wires.known.borrow_mut().insert(lane, Arc::clone(&memory));
        memory
    }

    /// Sends what the lanes of this worker have written.
    #[inline]
    pub(super) fn flush_wires(&self) {
        for cable in self.wires.connections.iter().filter(|cable| !cable.is_lost.get()) {
            if let Err(error) = cable.connection.flush() {
                cable.lose(error);
            }
        }
    }

    /// A connection is lost. At the end of the application that is how it should be; when a process died node 0 ends all;
    /// otherwise this node does, since what it sends and waits for does not come through any more.
    #[cold]
    fn outlive(&self, cable: &Cable) {
        let lost = cable.lost.borrow();
        let Some((when, error)) = lost.as_ref() else { return };
        if when.elapsed() > OUTLIVES && self.shared.phase() != Phase::Ended {
            let node = self.shared.peers.as_ref().map_or(0, Peers::node);
            fate::end(&format!("node {node} has lost its connection to node {}: {error}", cable.node), true);
        }
    }
}
