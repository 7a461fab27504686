//! Collectives of nodes: contributions to a node go to its first worker, which forwards them if the fiber that does
//! the collective is on another worker. Nobody else knows where that fiber is.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::structures::tree::Tree;
use crate::worker::nodes::teams::{Edge, TeamId};
use crate::worker::{Worker, with_worker};

/// The team of all nodes, whose members have their numbers. No worker has the number that others begin with.
pub(crate) const NODES: TeamId = (u32::MAX, 0);

impl Worker {
    /// This node among all, in their tree.
    pub(crate) fn tree_of_nodes(&self) -> Tree {
        let (number, count) =
            self.shared.peers.as_ref().map_or((0, 1), |peers| (peers.node() as u32, peers.nodes() as u32));
        Tree { number, count }
    }

    /// The first worker of a node.
    pub(crate) fn first_of_node(&self, node: usize) -> usize {
        self.shared.peers.as_ref().map_or(0, |peers| peers.workers_of(node).start)
    }

    /// The number of this node's next round. Its contributions come to this worker.
    pub(crate) fn come_to_round(&self) -> u64 {
        let round = self.shared.next_round();
        if self.index != self.shared.first {
            let redirect = |_: &mut Root, (round, to): (u64, usize)| {
                with_worker(|here| {
                    let tree = here.tree_of_nodes();
                    for from in tree.neighbours() {
                        here.redirect(Edge { team: NODES, from, to: tree.number }, round, to);
                    }
                });
            };
            self.tell(self.shared.first, Delegated::of::<Root, _>(redirect), (round, self.index));
        }
        round
    }
}
