//! How nodes of one machine come to share memory: each pair of them exchanges descriptors over a Unix socket of its own.

use crate::fabric::shm::{Neighbour, Notifiers, Pair};
use crate::rack::environment::Membership;
use crate::rack::greeting::{check_user, greet, problem};
use crate::rack::hello::Member;
use crate::rack::message::send;
use crate::runtime::StartError;
use crate::sys::process::descriptors;
use crate::sys::sync::eventfd::EventFd;
use crate::transport::handshake;
use crate::transport::socket::{Address, Socket, SocketListener};
use crate::worker::nodes::peers::{Peers, RemoteLinks};
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Time between two attempts to reach a neighbour.
const RETRY: Duration = Duration::from_millis(5);

/// Where nodes of one machine reach each other.
pub(super) const LOCALHOST: &str = "127.0.0.1";

/// Where a node waits for its neighbours. It does so before it tells node 0 that it is there.
pub(crate) struct NeighbourListener(SocketListener);

impl NeighbourListener {
    /// # Errors
    /// If the name is taken.
    pub(crate) fn open(membership: &Membership) -> Result<Self, StartError> {
        let address = address(membership, membership.node);
        let listener = SocketListener::bind(&address);
        listener.map(Self).map_err(|error| {
            problem(format!(
                "node {} cannot wait for others at {address}: {error}; does another application use its token?",
                membership.node
            ))
        })
    }
}

/// The name of a node's listener, which is there as long as the node lives.
pub(super) fn listener_name(membership: &Membership, node: usize) -> String {
    format!("gossamer-{}", membership.token.public_name(&format!("node {node}")))
}

fn address(membership: &Membership, node: usize) -> Address {
    Address::Unix(listener_name(membership, node))
}

/// Shares memory with all other nodes of this machine. `remote`: the ways to nodes of others.
///
/// # Errors
/// If one of them is lost meanwhile, or there is not so much memory.
pub(crate) fn connect(
    membership: &Membership,
    listener: &NeighbourListener,
    members: &[Member],
    remote: RemoteLinks,
    due: Instant,
) -> Result<Peers, StartError> {
    let node = membership.node;
    share(membership, listener, members, remote, due).map_err(|(other, error)| {
        problem(format!("node {node} and node {other} cannot share memory: {error}"))
    })
}

fn share(
    membership: &Membership,
    listener: &NeighbourListener,
    members: &[Member],
    remote: RemoteLinks,
    due: Instant,
) -> Result<Peers, (usize, io::Error)> {
    let node = membership.node;
    let ours = members[node].workers;
    let on_this = |error| (node, error);
    let all = workers_of(members, members.len() - 1).end;
    let notifiers = Notifiers::create(ours, all).map_err(on_this)?;
    let eventfds = (0..ours).map(|_| EventFd::new()).collect::<io::Result<Vec<_>>>().map_err(on_this)?;
    let is_neighbour = |other: usize| other != node && members[other].machine == members[node].machine;
    let mut neighbours: Vec<Option<Neighbour>> = (0..members.len()).map(|_| None).collect();
    // First to those with lower numbers: node 0 waits for nobody, so all come through in the end.
    for other in (0..node).filter(|other| is_neighbour(*other)) {
        let on_that = |error| (other, error);
        let theirs = workers_of(members, other);
        let mut socket = reach(membership, other, due).map_err(on_that)?;
        send(&mut socket, node).map_err(on_that)?;
        hand_over(&socket, &notifiers, &eventfds, None).map_err(on_that)?;
        let (theirs_shared, lanes) = take_over(&socket, (theirs.len(), all), true).map_err(on_that)?;
        let pair = lanes.ok_or_else(|| on_that(io::ErrorKind::InvalidData.into()))?;
        let pair = Pair::attach(pair, workers_of(members, node), theirs.clone()).map_err(on_that)?;
        let (notifiers, eventfds) = theirs_shared;
        neighbours[other] = Some(Neighbour { workers: theirs, pair, notifiers, eventfds });
    }
    let mut missing = (node + 1..members.len()).filter(|other| is_neighbour(*other)).count();
    let (arrived, arrivals) = mpsc::sync_channel(members.len());
    while missing > 0 {
        let Ok((other, socket)) = arrivals.try_recv() else {
            match listener.0.accept_until(due.min(Instant::now() + RETRY)) {
                Ok(socket) => greet::<usize>(socket, membership, arrived.clone()),
                Err(_) if Instant::now() < due => {}
                Err(error) => return Err(on_this(error)),
            }
            continue;
        };
        let on_that = |error| (other, error);
        if other >= members.len() || !is_neighbour(other) || neighbours[other].is_some() {
            return Err(on_that(io::Error::other("it has come twice, or is none of this machine")));
        }
        let workers = workers_of(members, other);
        let pair = Pair::create(workers_of(members, node), workers.clone()).map_err(on_that)?;
        let (theirs, _) = take_over(&socket, (workers.len(), all), false).map_err(on_that)?;
        hand_over(&socket, &notifiers, &eventfds, Some(&pair)).map_err(on_that)?;
        neighbours[other] = Some(Neighbour { workers, pair, notifiers: theirs.0, eventfds: theirs.1 });
        missing -= 1;
    }
    let workers: Vec<usize> = members.iter().map(|member| member.workers).collect();
    // Who has no such port has all others on its machine.
    let host = members[node].data.rsplit_once(':').map_or(LOCALHOST, |(host, _)| host);
    let neighbours = neighbours.into_iter().flatten().collect();
    Ok(Peers::new((node, host.to_owned()), &workers, neighbours, remote, (notifiers, eventfds)))
}

/// The workers of a node among all.
pub(super) fn workers_of(members: &[Member], node: usize) -> Range<usize> {
    let first = members[..node].iter().map(|member| member.workers).sum();
    first..first + members[node].workers
}

fn reach(membership: &Membership, other: usize, due: Instant) -> io::Result<Socket> {
    loop {
        let attempt =
            Socket::connect(&address(membership, other), handshake::PATIENCE).and_then(|mut socket| {
                check_user(&socket)?;
                handshake::connect(&mut socket, &membership.token)?;
                Ok(socket)
            });
        match attempt {
            // It listens, or it has ended: it listened before it told node 0. Another end of the attempt means that it is
            // busy with strangers, or ends, which the next attempt tells.
            Err(error)
                if Instant::now() + RETRY < due
                    && !matches!(
                        error.kind(),
                        io::ErrorKind::PermissionDenied | io::ErrorKind::ConnectionRefused
                    ) =>
            {
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

/// What another node handed over: its notifiers and eventfds, and the lanes if it made them.
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
