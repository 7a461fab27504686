//! Who reports why all end, when node 0 has ended and no launcher watches: the lowest node that still lives.

use crate::rack::hello::Member;
use crate::transport::socket::Socket;
use crate::worker::end::fate;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The reporting node lives this long after node 0, so that the others see it.
const LINGER: Duration = Duration::from_millis(400);
/// Within this time, nodes that ended together with node 0 are seen to have ended.
const TOGETHER: Duration = Duration::from_millis(50);

/// Stays alive so that the others see who reports.
pub(super) fn linger() {
    std::thread::sleep(LINGER);
}

/// While nodes start, a lost node may have given up for a reason that this node is about to find and report too. A
/// launcher gets both, and knows which one explains more.
pub(super) fn wait_for_own_reason() {
    if !fate::is_watched() {
        linger();
    }
}

/// What a node knows about those between node 0 and itself.
pub(crate) struct Survivors {
    below: Vec<Below>,
    /// Connections to all nodes of this machine except node 0, on which both have proved themselves and nothing more
    /// is sent: their end tells the others that this node has ended, too. Unset until they are connected.
    neighbours: OnceLock<Vec<(usize, Socket)>>,
}

enum Below {
    /// A node of this machine.
    Neighbour(usize),
    /// A node of another machine: whether the connection to it has ended.
    Remote(AtomicBool),
}

impl Survivors {
    pub(crate) fn new(node: usize, members: &[Member]) -> Self {
        let own = &members[node].machine;
        let below = members.iter().enumerate().take(node).skip(1);
        let below = below.map(|(other, member)| match member.machine == *own {
            true => Below::Neighbour(other),
            false => Below::Remote(AtomicBool::new(false)),
        });
        Self { below: below.collect(), neighbours: OnceLock::new() }
    }

    /// Keeps the connections to all nodes of this machine except node 0.
    pub(super) fn keep(&self, neighbours: Vec<(usize, Socket)>) {
        let _once = self.neighbours.set(neighbours);
    }

    /// The connection to a node has ended.
    pub(super) fn lose(&self, node: usize) {
        if let Some(Below::Remote(lost)) = node.checked_sub(1).and_then(|below| self.below.get(below)) {
            // Relaxed: nothing else depends on it, and it is looked at much later.
            lost.store(true, Ordering::Relaxed);
        }
    }

    /// Whether none of them lives; called when node 0 has ended. Takes a moment.
    pub(super) fn are_none(&self) -> bool {
        std::thread::sleep(TOGETHER);
        !self.below.iter().any(|below| match below {
            Below::Neighbour(node) => self.is_there(*node),
            // Relaxed: as above.
            Below::Remote(lost) => !lost.load(Ordering::Relaxed),
        })
    }

    /// Whether a node of this machine lives, as far as this one knows.
    fn is_there(&self, node: usize) -> bool {
        let neighbours = self.neighbours.get().into_iter().flatten();
        let mut connections = neighbours.filter(|(other, _)| *other == node).map(|(_, socket)| socket);
        // Only the end can still arrive.
        connections.next().is_none_or(|socket| socket.wait_until_readable(Instant::now()).is_err())
    }
}
