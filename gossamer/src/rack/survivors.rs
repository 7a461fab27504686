//! Who says why all end, when node 0 has ended and no launcher watches: the lowest node that still lives.

use crate::rack::hello::Member;
use crate::transport::socket::Socket;
use crate::worker::end::fate;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whoever is to say it lives so long after node 0, so that the others see that.
const LINGER: Duration = Duration::from_millis(400);
/// Nodes that have ended together with node 0 are seen to have so soon after it.
const TOGETHER: Duration = Duration::from_millis(50);

/// Stays for the others to see who says it.
pub(super) fn linger() {
    std::thread::sleep(LINGER);
}

/// While nodes start, one that is lost may have given up for a reason that this node is about to find, too, and tells. A launcher hears
/// both, and knows which explains more.
pub(super) fn wait_for_own_reason() {
    if !fate::is_watched() {
        linger();
    }
}

/// What a node knows of those between node 0 and itself.
pub(crate) struct Survivors {
    below: Vec<Below>,
    /// Connections to all nodes of this machine but node 0, on which both have proved themselves and nothing is said any more: the others see by
    /// their end that this node has ended, too. None before they are there.
    neighbours: OnceLock<Vec<(usize, Socket)>>,
}

enum Below {
    /// Of this machine.
    Neighbour(usize),
    /// Of another: whether the connection to it has ended.
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

    /// Keeps the connections to all nodes of this machine but node 0.
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

    /// Whether none of them lives: asked when node 0 has ended. Takes a moment.
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
        // All that can still come is the end.
        connections.next().is_none_or(|socket| socket.wait_until_readable(Instant::now()).is_err())
    }
}
