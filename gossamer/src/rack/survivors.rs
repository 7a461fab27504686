//! Who says why all end, when node 0 has ended: the lowest node that still lives.

use crate::rack::environment::Membership;
use crate::rack::hello::Member;
use crate::rack::neighbours::listener_name;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whoever is to say it lives so long after node 0, so that the others see that.
pub(super) const LINGER: Duration = Duration::from_millis(400);
/// Nodes that have ended together with node 0 are seen to have so soon after it.
const TOGETHER: Duration = Duration::from_millis(50);

/// What a node knows of those between node 0 and itself.
pub(crate) struct Survivors(Vec<Below>);

enum Below {
    /// Of this machine: its listener has this name as long as it lives.
    Neighbour(String),
    /// Of another: whether the connection to it has ended.
    Remote(AtomicBool),
}

impl Survivors {
    pub(crate) fn new(membership: &Membership, members: &[Member]) -> Self {
        let own = &members[membership.node].machine;
        let below = members.iter().enumerate().take(membership.node).skip(1);
        let below = below.map(|(other, member)| match member.machine == *own {
            true => Below::Neighbour(listener_name(membership, other)),
            false => Below::Remote(AtomicBool::new(false)),
        });
        Self(below.collect())
    }

    /// The connection to a node has ended.
    pub(super) fn lose(&self, node: usize) {
        if let Some(Below::Remote(lost)) = node.checked_sub(1).and_then(|below| self.0.get(below)) {
            // Relaxed: nothing else depends on it, and it is looked at much later.
            lost.store(true, Ordering::Relaxed);
        }
    }

    /// Whether none of them lives: asked when node 0 has ended. Takes a moment.
    pub(super) fn are_none(&self) -> bool {
        std::thread::sleep(TOGETHER);
        // Not by connecting: strangers may have filled the queue there.
        let listeners = std::fs::read_to_string("/proc/net/unix").unwrap_or_default();
        let is_there =
            |listener: &str| listeners.lines().any(|line| line.ends_with(&format!(" @{listener}")));
        !self.0.iter().any(|below| match below {
            Below::Neighbour(listener) => is_there(listener),
            // Relaxed: as above.
            Below::Remote(lost) => !lost.load(Ordering::Relaxed),
        })
    }
}
