//! How nodes of different machines connect their workers: with as many queue pairs or TCP connections per pair of nodes as the
//! larger has workers, and one connection on which they watch each other.

use crate::fabric;
use crate::fabric::choice::FabricChoice;
use crate::fabric::tcp::Proved;
use crate::fabric::verbs::link::setup::ReachedNode;
use crate::fabric::verbs::survey::Survey;
use crate::rack::absence::{self, lost, problem_with};
use crate::rack::control::watch_peer;
use crate::rack::environment::Membership;
use crate::rack::greeting::{Greeted, HANDSHAKES, go_to_door, greet, problem};
use crate::rack::hello::Member;
use crate::rack::message::MessageSocket;
use crate::rack::neighbours::workers_of;
use crate::rack::pair_fabric::{self, PairFabric};
use crate::rack::queue_pairs::{self, Connected};
use crate::rack::survivors::Survivors;
use crate::runtime::StartError;
use crate::transport::entrance::Entrance;
use crate::transport::handshake;
use crate::transport::purpose::{Door, Purpose};
use crate::transport::records::within_process;
use crate::transport::seal::protection::Protection;
use crate::transport::socket::{Address, Socket, SocketListener};
use crate::worker::nodes::peers::RemoteLinks;
use std::io;
use std::net::TcpStream;
use std::ops::Range;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Time between two checks for connections that have proved themselves.
const LOOK: Duration = Duration::from_millis(10);

/// Where a node waits for connections from other machines, and how they reach it.
pub(crate) struct Port {
    listener: SocketListener,
    pub(crate) address: String,
}

impl Port {
    /// A new port at a host name or address of this machine.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn open(host: &str) -> io::Result<Self> {
        let listener = SocketListener::bind(&Address::Tcp(format!("{host}:0")))?;
        let port = listener.port()?;
        Ok(Self { listener, address: format!("{host}:{port}") })
    }
}

/// A node that connects to those of other machines.
pub(crate) struct Joining<'a> {
    pub(crate) membership: &'a Membership,
    /// Where it waits for them.
    pub(crate) port: Option<&'a Port>,
    pub(crate) members: &'a [Member],
    pub(crate) survivors: &'a Arc<Survivors>,
    pub(crate) due: Instant,
}

/// Connections to each node, by their numbers.
type OpenedConnections = Vec<Vec<MessageSocket>>;

impl Joining<'_> {
    /// Connects the workers of this node to those of all nodes on other machines: by RDMA where that works, else by
    /// TCP, if `fabric` allows it.
    ///
    /// # Errors
    /// If one of them is lost meanwhile, or cannot be reached. The text says which.
    pub(crate) fn connect(
        &self,
        fabric: FabricChoice,
        survey: Option<Survey>,
    ) -> Result<RemoteLinks, StartError> {
        let fabrics: Vec<PairFabric> = (0..self.members.len()).map(|other| self.fabric_to(other)).collect();
        let is_watched = |other: usize| self.membership.node > 0 && other > 0;
        // The last connection is first for the queue pairs, and then for watching each other; node 0 is watched
        // anyway.
        let first = |other: usize| match &fabrics[other] {
            PairFabric::SharedMemory => 0..0,
            PairFabric::Verbs(_) => self.workers(other)..self.workers(other) + 1,
            PairFabric::Tcp(_) => 0..self.workers(other) + usize::from(is_watched(other)),
        };
        let mut opened = self.open(first, self.due)?;
        let mut watches: Vec<Option<MessageSocket>> = opened
            .iter_mut()
            .enumerate()
            .map(|(other, sockets)| match &fabrics[other] {
                PairFabric::Tcp(_) if !is_watched(other) => None,
                _ => sockets.pop(),
            })
            .collect();
        let connected = self.connect_queue_pairs(&fabrics, survey, &mut watches)?;
        let unreached = connected.unreached;
        for (other, why) in &unreached {
            self.fall_back(*other, why, fabric)?;
        }
        let fallen =
            |other: usize| if unreached.contains_key(&other) { 0..self.workers(other) } else { 0..0 };
        let fallen = self.open(fallen, at_least_a_moment(self.due))?;
        for (other, watch) in watches.into_iter().enumerate().filter(|(other, _)| is_watched(*other)) {
            let Some(socket) = watch else { continue };
            watch_peer(socket, other, self.members[other].clone(), Arc::clone(self.survivors))
                .map_err(|error| lost(other, &error))?;
        }
        let sockets = opened.into_iter().zip(fallen).enumerate().map(|(other, (sockets, fallen))| {
            let sockets = sockets.into_iter().chain(fallen).map(|socket| of_workers(socket).map(Some));
            Ok(Mutex::new(sockets.collect::<io::Result<_>>().map_err(|error| lost(other, &error))?))
        });
        Ok(RemoteLinks {
            sockets: sockets.collect::<Result<_, StartError>>()?,
            verbs: connected.endpoints,
            devices: connected.devices,
            #[cfg(all(test, not(loom)))]
            simulated: None,
        })
    }

    /// The fabric between this node and another one. None is needed to itself.
    fn fabric_to(&self, other: usize) -> PairFabric {
        pair_fabric::between(self.members, self.membership.node, other)
    }

    /// How many connections the workers have with those of another node.
    fn workers(&self, other: usize) -> usize {
        fabric::connections(self.members[self.membership.node].workers, self.members[other].workers)
    }

    /// The door for connection `index` with another node: those of workers come first.
    fn door(&self, other: usize, index: usize) -> Door {
        if index < self.workers(other) { Door::Lanes } else { Door::Watch }
    }

    fn connect_queue_pairs(
        &self,
        fabrics: &[PairFabric],
        survey: Option<Survey>,
        watches: &mut [Option<MessageSocket>],
    ) -> Result<Connected, StartError> {
        let node = self.membership.node;
        let reached: Vec<ReachedNode> = fabrics
            .iter()
            .enumerate()
            .filter_map(|(other, fabric)| match fabric {
                PairFabric::Verbs(ports) => Some(ReachedNode {
                    number: other,
                    workers: workers_of(self.members, other),
                    ports: ports.clone(),
                    end: usize::from(node > other),
                }),
                _ => None,
            })
            .collect();
        let (false, Some(survey)) = (reached.is_empty(), survey) else { return Ok(Connected::default()) };
        let is_reached = |other: &usize| matches!(fabrics[*other], PairFabric::Verbs(_));
        let controls = watches.iter_mut().enumerate().filter(|(other, _)| is_reached(other));
        let controls = controls.filter_map(|(other, socket)| Some((other, socket.as_mut()?))).collect();
        queue_pairs::connect(survey, workers_of(self.members, node), reached, controls, self.due)
            .map_err(|(other, error)| lost(other, &error))
    }

    /// A node cannot be reached by RDMA, though it should be.
    ///
    /// # Errors
    /// If nothing else is allowed.
    fn fall_back(&self, other: usize, why: &str, fabric: FabricChoice) -> Result<(), StartError> {
        let node = self.membership.node;
        let (first, second) = (node.min(other), node.max(other));
        let text = format!("node {first} and node {second} cannot be joined by RDMA: {why}");
        if fabric == FabricChoice::Verbs {
            return Err(problem(format!("{text} (GOSSAMER_FABRIC=verbs)")));
        }
        if node < other {
            eprintln!("gossamer: {text}; they use TCP (GOSSAMER_FABRIC=tcp does at once)");
        }
        Ok(())
    }

    /// Opens connections of these numbers with each other node.
    fn open(
        &self,
        wanted: impl Fn(usize) -> Range<usize>,
        due: Instant,
    ) -> Result<OpenedConnections, StartError> {
        let node = self.membership.node;
        let wanted = |other: usize| if other == node { 0..0 } else { wanted(other) };
        let mut opened: Vec<Vec<Option<MessageSocket>>> =
            (0..self.members.len()).map(|other| wanted(other).map(|_| None).collect()).collect();
        for (other, places) in opened.iter_mut().enumerate().take(node) {
            for (index, place) in wanted(other).zip(places) {
                let Member { host, data, .. } = &self.members[other];
                let purpose = self.membership.purpose(self.door(other, index), other, index);
                let socket = reach(self.membership, data, purpose, due).map_err(|error| {
                    let text =
                        format!("node {node} does not reach node {other} on {host} at {data}: {error}");
                    problem_with(other, &error, text)
                })?;
                *place = Some(socket);
            }
        }
        let expected = (node + 1..self.members.len()).map(|other| wanted(other).len()).sum();
        if let Some(port) = self.port.filter(|_| expected > 0) {
            self.accept(port, &mut opened, |other| wanted(other).start, (expected, due))?;
        }
        Ok(opened.into_iter().map(|sockets| sockets.into_iter().flatten().collect()).collect())
    }

    /// Takes the connections that nodes of higher numbers open. `first`: the number of the first one of a node.
    fn accept(
        &self,
        port: &Port,
        opened: &mut [Vec<Option<MessageSocket>>],
        first: impl Fn(usize) -> usize,
        (mut expected, due): (usize, Instant),
    ) -> Result<(), StartError> {
        let node = self.membership.node;
        let (arrived, arrivals) = mpsc::sync_channel::<io::Result<Greeted<Purpose>>>(HANDSHAKES);
        let entrance = Entrance::new(&port.listener)
            .map_err(|source| StartError::System { step: "listening to other nodes", source })?;
        while expected > 0 {
            while let Ok(greeted) = arrivals.try_recv() {
                let (purpose, socket) = greeted.map_err(|error| problem(error.to_string()))?;
                let (other, index) = (purpose.from as usize, purpose.index as usize);
                let place = opened.get_mut(other).and_then(|places| {
                    places.get_mut(index.checked_sub(first(other))?).filter(|place| place.is_none())
                });
                let place = place.filter(|_| purpose.door == self.door(other, index));
                let place =
                    place.ok_or_else(|| problem(format!("{purpose} is made twice, or not wanted")))?;
                *place = Some(socket);
                expected -= 1;
            }
            match entrance.take_until(due.min(Instant::now() + LOOK)) {
                Ok(visitors) => visitors.into_iter().for_each(|visitor| {
                    let own = self.membership.protection;
                    let takes = move |Purpose { door, protection, from, to, .. }: Purpose| {
                        let is_here = matches!(door, Door::Lanes | Door::Watch) && to as usize == node;
                        is_here && from > to && protection == own
                    };
                    greet(visitor, self.membership, takes, |purpose, _| Ok(purpose), arrived.clone());
                }),
                Err(_) if Instant::now() < due => {}
                Err(error) => {
                    let text = format!(
                        "{expected} connections of other nodes did not come to node {node} in time ({error})"
                    );
                    let is_missing =
                        |other: &usize| *other > node && opened[*other].iter().any(Option::is_none);
                    let missing: Vec<usize> = (0..opened.len()).filter(is_missing).collect();
                    return Err(absence::missing(&missing, text));
                }
            }
        }
        Ok(())
    }
}

/// Another node may have had more time than this one to find out that RDMA does not work: all nodes are there, so
/// this goes on for a moment.
pub(crate) fn at_least_a_moment(due: Instant) -> Instant {
    due.max(Instant::now() + handshake::PATIENCE)
}

/// Connects to the port of a node, more than once if it is busy with strangers.
fn reach(
    membership: &Membership,
    address: &str,
    purpose: Purpose,
    due: Instant,
) -> io::Result<MessageSocket> {
    let address = Address::Tcp(address.to_owned());
    loop {
        let patience = due.saturating_duration_since(Instant::now()).min(handshake::PATIENCE);
        let attempt =
            Socket::connect(&address, patience).and_then(|socket| go_to_door(socket, membership, purpose));
        match attempt {
            // It listened before it told node 0: so it has ended, or somebody else has the port.
            Err(error)
                if Instant::now() + LOOK < due
                    && !matches!(
                        error.kind(),
                        io::ErrorKind::PermissionDenied | io::ErrorKind::ConnectionRefused
                    ) =>
            {
                thread::sleep(LOOK);
            }
            outcome => return outcome,
        }
    }
}

/// A connection of workers. The kernel must not give up on a silent peer, which may be computing for a long time
/// without reading. Other connections show whether it is lost.
fn of_workers(socket: MessageSocket) -> io::Result<Proved> {
    let (Socket::Tcp(socket), records) = socket.into_parts() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(None)?;
    Ok((socket, records))
}

/// The connections of each node to all others, of a rack inside one process, over loopback.
///
/// # Errors
/// If the system gives no sockets.
pub(crate) fn loopback(nodes: usize, workers: usize, protection: Protection) -> io::Result<Vec<RemoteLinks>> {
    let mut all: Vec<RemoteLinks> = (0..nodes).map(|_| RemoteLinks::none(nodes)).collect();
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let pairs = (0..nodes).flat_map(|first| (first + 1..nodes).map(move |second| (first, second)));
    for (first, second) in pairs {
        let (mut these, mut those) = (Vec::new(), Vec::new());
        for index in 0..workers {
            let purpose = Purpose::of_nodes(Door::Lanes, protection, (first, second), index);
            let [connects, accepts] = within_process(purpose)?;
            these.push(Some((TcpStream::connect(listener.local_addr()?)?, connects)));
            those.push(Some((listener.accept()?.0, accepts)));
        }
        all[first].sockets[second] = Mutex::new(these);
        all[second].sockets[first] = Mutex::new(those);
    }
    Ok(all)
}
