//! How nodes of different machines connect their workers: as many connections per pair of nodes as the larger has workers, and
//! one on which they watch each other.

use crate::rack::control::watch_peer;
use crate::rack::environment::Membership;
use crate::rack::greeting::{HANDSHAKES, greet, problem};
use crate::rack::hello::Member;
use crate::rack::message::send;
use crate::rack::survivors::Survivors;
use crate::runtime::StartError;
use crate::transport::handshake;
use crate::transport::socket::{Address, Socket, SocketListener};
use crate::worker::nodes::peers::{Peers, Sockets};
use std::io;
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// Time between two looks for connections that have proved themselves.
const LOOK: Duration = Duration::from_millis(10);

/// Where a node waits for connections of other machines, and how they reach it.
pub(crate) struct Port {
    listener: SocketListener,
    pub(crate) address: String,
}

impl Port {
    /// A port of its own at a host name or address of this machine.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) fn open(host: &str) -> io::Result<Self> {
        let listener = SocketListener::bind(&Address::Tcp(format!("{host}:0")))?;
        let port = listener.port()?;
        Ok(Self { listener, address: format!("{host}:{port}") })
    }
}

/// What is said first on a connection: the node that made it, and which of its connections it is.
type Introduction = (usize, usize);

/// Connects the workers of this node to those of all nodes on other machines.
///
/// # Errors
/// If one of them is lost meanwhile, or cannot be reached. The text says which.
pub(crate) fn connect(
    membership: &Membership,
    port: Option<&Port>,
    members: &[Member],
    survivors: &Arc<Survivors>,
    due: Instant,
) -> Result<Vec<Sockets>, StartError> {
    let node = membership.node;
    let is_far = |other: usize| other != node && members[other].machine != members[node].machine;
    let workers = |other: usize| Peers::connections(members[node].workers, members[other].workers);
    // One more to watch each other; node 0 is watched anyway.
    let count = |other: usize| workers(other) + usize::from(node > 0 && other > 0);
    let mut sockets: Vec<Vec<Option<Socket>>> = (0..members.len())
        .map(|other| if is_far(other) { (0..count(other)).map(|_| None).collect() } else { Vec::new() })
        .collect();
    for other in (0..node).filter(|other| is_far(*other)) {
        for (index, place) in sockets[other].iter_mut().enumerate() {
            let socket = reach(membership, &members[other].data, (node, index), due).map_err(|error| {
                let Member { host, data, .. } = &members[other];
                problem(format!("node {node} does not reach node {other} on {host} at {data}: {error}"))
            })?;
            *place = Some(socket);
        }
    }
    let expected = (node + 1..members.len()).filter(|other| is_far(*other)).map(count).sum();
    if let Some(port) = port.filter(|_| expected > 0) {
        accept(membership, port, &mut sockets, expected, due)?;
    }
    let mut all = Vec::with_capacity(members.len());
    for (other, sockets) in sockets.into_iter().enumerate() {
        let lost = |error| problem(format!("node {other} was lost while the application started: {error}"));
        let mut sockets: Vec<Socket> = sockets.into_iter().flatten().collect();
        for socket in sockets.drain(workers(other).min(sockets.len())..) {
            watch_peer(socket, other, members[other].clone(), Arc::clone(survivors)).map_err(lost)?;
        }
        let of_workers = sockets.into_iter().map(|socket| of_workers(socket).map(Some));
        all.push(Mutex::new(of_workers.collect::<io::Result<_>>().map_err(lost)?));
    }
    Ok(all)
}

fn reach(
    membership: &Membership,
    address: &str,
    introduction: Introduction,
    due: Instant,
) -> io::Result<Socket> {
    let patience = due.saturating_duration_since(Instant::now()).min(handshake::PATIENCE);
    let mut socket = Socket::connect(&Address::Tcp(address.to_owned()), patience)?;
    handshake::connect(&mut socket, &membership.token)?;
    send(&mut socket, introduction)?;
    Ok(socket)
}

fn accept(
    membership: &Membership,
    port: &Port,
    sockets: &mut [Vec<Option<Socket>>],
    mut expected: usize,
    due: Instant,
) -> Result<(), StartError> {
    let node = membership.node;
    let (arrived, arrivals) = mpsc::sync_channel::<(Introduction, Socket)>(HANDSHAKES);
    while expected > 0 {
        while let Ok(((other, index), socket)) = arrivals.try_recv() {
            let place = sockets.get_mut(other).and_then(|sockets| sockets.get_mut(index));
            let place = place.filter(|place| other > node && place.is_none());
            let place =
                place.ok_or_else(|| problem(format!("node {other} connects its worker {index} twice")))?;
            *place = Some(socket);
            expected -= 1;
        }
        match port.listener.accept_until(due.min(Instant::now() + LOOK)) {
            Ok(socket) => greet(socket, membership, arrived.clone()),
            Err(_) if Instant::now() < due => {}
            Err(error) => {
                let text = format!(
                    "{expected} connections of other nodes did not come to node {node} in time ({error})"
                );
                return Err(problem(text));
            }
        }
    }
    Ok(())
}

/// A connection of workers. The kernel is not to give up a peer that is silent: it may be computing for long, and not reading.
/// Who is lost is seen on other connections.
fn of_workers(socket: Socket) -> io::Result<TcpStream> {
    let Socket::Tcp(socket) = socket else { return Err(io::ErrorKind::InvalidInput.into()) };
    socket.set_read_timeout(None)?;
    socket.set_write_timeout(None)?;
    Ok(socket)
}

/// By node, the connections of each to all others, of a rack inside one process, over loopback.
///
/// # Errors
/// If the system gives no sockets.
pub(crate) fn loopback(nodes: usize, workers: usize) -> io::Result<Vec<Vec<Sockets>>> {
    let mut all: Vec<Vec<Sockets>> =
        (0..nodes).map(|_| (0..nodes).map(|_| Sockets::default()).collect()).collect();
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    let pairs = (0..nodes).flat_map(|first| (first + 1..nodes).map(move |second| (first, second)));
    for (first, second) in pairs {
        let (mut these, mut those) = (Vec::new(), Vec::new());
        for _ in 0..workers {
            these.push(Some(TcpStream::connect(listener.local_addr()?)?));
            those.push(Some(listener.accept()?.0));
        }
        all[first][second] = Mutex::new(these);
        all[second][first] = Mutex::new(those);
    }
    Ok(all)
}
