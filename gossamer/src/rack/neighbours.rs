//! How nodes of one machine get to share memory: each pair exchanges descriptors over its own Unix socket.

use crate::fabric::shm::{Neighbour, Notifiers, Pair};
use crate::rack::absence::problem_with;
use crate::rack::environment::Membership;
use crate::rack::greeting::{go_to_door, greet, problem};
use crate::rack::hello::Member;
use crate::rack::message::MessageSocket;
use crate::rack::survivors::Survivors;
use crate::runtime::StartError;
use crate::sys::process::descriptors;
use crate::sys::sync::eventfd::EventFd;
use crate::transport::entrance::Entrance;
use crate::transport::handshake;
use crate::transport::purpose::{Door, Purpose};
use crate::transport::socket::{Address, Socket, SocketListener};
use crate::worker::end::fate;
use crate::worker::nodes::peers::{Peers, RemoteLinks};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two attempts to reach a neighbour.
const RETRY: Duration = Duration::from_millis(5);

/// The host at which nodes of one machine reach each other.
pub(super) const LOCALHOST: &str = "127.0.0.1";

/// Where a node waits for others of its machine while all start. The name is derived from the token, so nobody
/// without the token can take it first.
fn listen(membership: &Membership) -> Result<SocketListener, StartError> {
    let address = address(membership, membership.node);
    SocketListener::bind(&address).map_err(|error| {
        problem(format!(
            "node {} cannot wait for others at {address}: {error}; does another application use the same token?",
            membership.node
        ))
    })
}

fn address(membership: &Membership, node: usize) -> Address {
    Address::Unix(format!("gossamer-{}", membership.token.public_name(&format!("node {node}"))))
}

/// Shares memory with all other nodes of this machine, if there are any. `remote`: the connections to nodes of other
/// machines.
///
/// # Errors
/// If one of them is lost meanwhile, or there is not enough memory.
pub(crate) fn connect(
    membership: &Membership,
    members: &[Member],
    survivors: &Survivors,
    remote: RemoteLinks,
    due: Instant,
) -> Result<Peers, StartError> {
    let node = membership.node;
    let has_neighbours = members.iter().filter(|other| other.machine == members[node].machine).count() > 1;
    let listener = has_neighbours.then(|| listen(membership)).transpose()?;
    let (peers, mut sockets) =
        share(membership, listener.as_ref(), members, remote, due).map_err(|(other, error)| {
            let text = format!("node {node} and node {other} cannot share memory: {error}");
            if other == node { problem(text) } else { problem_with(other, &error, text) }
        })?;
    // A launcher sees by itself which node has ended; and each node sees the end of node 0, which tells the others,
    // on another connection.
    if !fate::is_watched() && node > 0 {
        sockets.retain(|(other, _)| *other > 0);
        survivors.keep(sockets);
    }
    Ok(peers)
}

/// The connections that memory was shared on, with the nodes at their other ends.
type NeighbourSockets = Vec<(usize, Socket)>;

fn share(
    membership: &Membership,
    listener: Option<&SocketListener>,
    members: &[Member],
    remote: RemoteLinks,
    due: Instant,
) -> Result<(Peers, NeighbourSockets), (usize, io::Error)> {
    let node = membership.node;
    let mut sockets = NeighbourSockets::new();
    let ours = members[node].workers;
    let on_this = |error| (node, error);
    let all = workers_of(members, members.len() - 1).end;
    let notifiers = Notifiers::create(ours, all).map_err(on_this)?;
    let eventfds = (0..ours).map(|_| EventFd::new()).collect::<io::Result<Vec<_>>>().map_err(on_this)?;
    let is_neighbour = |other: usize| other != node && members[other].machine == members[node].machine;
    let mut neighbours: Vec<Option<Neighbour>> = (0..members.len()).map(|_| None).collect();
    // First those with lower numbers: node 0 waits for nobody, so all get through in the end.
    for other in (0..node).filter(|other| is_neighbour(*other)) {
        let on_that = |error| (other, error);
        let theirs = workers_of(members, other);
        let (socket, _) = reach(membership, other, due).map_err(on_that)?.into_parts();
        hand_over(&socket, &notifiers, &eventfds, None).map_err(on_that)?;
        let (theirs_shared, lanes) = take_over(&socket, (theirs.len(), all), true).map_err(on_that)?;
        let pair = lanes.ok_or_else(|| on_that(io::ErrorKind::InvalidData.into()))?;
        let pair = Pair::attach(pair, workers_of(members, node), theirs.clone()).map_err(on_that)?;
        let (notifiers, eventfds) = theirs_shared;
        neighbours[other] = Some(Neighbour { workers: theirs, pair, notifiers, eventfds });
        sockets.push((other, socket));
    }
    let mut missing = (node + 1..members.len()).filter(|other| is_neighbour(*other)).count();
    let (arrived, arrivals) = mpsc::sync_channel(members.len());
    let entrance = listener.map(Entrance::new).transpose().map_err(on_this)?;
    while let Some(entrance) = entrance.as_ref().filter(|_| missing > 0) {
        let Ok(greeted) = arrivals.try_recv() else {
            match entrance.take_until(due.min(Instant::now() + RETRY)) {
                Ok(visitors) => visitors.into_iter().for_each(|visitor| {
                    let own = membership.protection;
                    let takes = move |Purpose { door, protection, to, .. }: Purpose| {
                        door == Door::Memory && to as usize == node && protection == own
                    };
                    let hear = |purpose: Purpose, _: &mut MessageSocket| Ok(purpose.from as usize);
                    greet(visitor, membership, takes, hear, arrived.clone());
                }),
                Err(_) if Instant::now() < due => {}
                Err(error) => {
                    let is_missing = |other: &usize| is_neighbour(*other) && neighbours[*other].is_none();
                    return Err(((0..members.len()).find(is_missing).unwrap_or(node), error));
                }
            }
            continue;
        };
        let (other, socket): (usize, MessageSocket) = greeted.map_err(on_this)?;
        let (on_that, (socket, _)) = (|error| (other, error), socket.into_parts());
        if other >= members.len() || !is_neighbour(other) || neighbours[other].is_some() {
            return Err(on_that(io::Error::other(
                "it has connected twice, or is not a node of this machine",
            )));
        }
        let workers = workers_of(members, other);
        let pair = Pair::create(workers_of(members, node), workers.clone()).map_err(on_that)?;
        let (theirs, _) = take_over(&socket, (workers.len(), all), false).map_err(on_that)?;
        hand_over(&socket, &notifiers, &eventfds, Some(&pair)).map_err(on_that)?;
        neighbours[other] = Some(Neighbour { workers, pair, notifiers: theirs.0, eventfds: theirs.1 });
        sockets.push((other, socket));
        missing -= 1;
    }
    let workers: Vec<usize> = members.iter().map(|member| member.workers).collect();
    // A node without such a port has all others on its machine.
    let host = members[node].data.rsplit_once(':').map_or(LOCALHOST, |(host, _)| host);
    let neighbours = neighbours.into_iter().flatten().collect();
    let identity = (node, host.to_owned(), membership.token.public_name("rack"));
    let peers = Peers::new(identity, &workers, neighbours, remote, (notifiers, eventfds));
    Ok((peers, sockets))
}

/// The range of a node's workers among all.
pub(super) fn workers_of(members: &[Member], node: usize) -> Range<usize> {
    let first = members[..node].iter().map(|member| member.workers).sum();
    first..first + members[node].workers
}

fn reach(membership: &Membership, other: usize, due: Instant) -> io::Result<MessageSocket> {
    let purpose = membership.purpose(Door::Memory, other, 0);
    loop {
        let attempt = Socket::connect(&address(membership, other), handshake::PATIENCE)
            .and_then(|socket| go_to_door(socket, membership, purpose));
        match attempt {
            // It does not listen yet, is busy with strangers, or is ending, which node 0 sees.
            Err(error) if Instant::now() + RETRY < due && error.kind() != io::ErrorKind::PermissionDenied => {
                thread::sleep(RETRY);
            }
            outcome => return outcome,
        }
    }
}

fn hand_over(
    socket: &Socket,
    notifiers: &Notifiers,
    eventfds: &[EventFd],
    pair: Option<&Pair>,
) -> io::Result<()> {
    let mut all: Vec<BorrowedFd<'_>> = vec![notifiers.as_fd()];
    all.extend(eventfds.iter().map(AsFd::as_fd));
    all.extend(pair.map(AsFd::as_fd));
    descriptors::send(socket, &all)
}

/// What another node has sent: its notifiers and eventfds, and the lanes if it made them.
type TakenOver = ((Notifiers, Vec<EventFd>), Option<OwnedFd>);

/// `workers`: of that node, and of all.
fn take_over(
    socket: &Socket,
    (workers, all_workers): (usize, usize),
    with_lanes: bool,
) -> io::Result<TakenOver> {
    let mut all = descriptors::receive(socket, 1 + workers + usize::from(with_lanes))?;
    let lanes = if with_lanes { all.pop() } else { None };
    let eventfds = all.split_off(1).into_iter().map(EventFd::from_descriptor).collect();
    let notifiers = all.pop().ok_or(io::ErrorKind::InvalidData)?;
    Ok(((Notifiers::attach(notifiers, workers, all_workers)?, eventfds), lanes))
}
