//! Fences of a trustee of another node: the part of a grace round that goes over a tree of the nodes, whose root is the node of the trustee.
//!
//! The first worker of a node asks those of the nodes below, and all workers of its own node. A worker that has a
//! lane to the trustee answers over it, behind everything it has sent; a worker without a lane has sent nothing. The
//! number of these answers is added up on the way back, so the trustee knows how many to wait for.

use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::structures::tree::Tree;
use crate::worker::mailbox::inbox::Message;
use crate::worker::{Worker, with_worker};
use foldhash::fast::FixedState;
use std::cell::RefCell;
use std::collections::HashMap;

/// At the first worker of a node, by the trustee: the rounds of trustees of other nodes. A trustee has one at a time.
#[derive(Default)]
pub(crate) struct FenceSums(RefCell<HashMap<usize, FenceSum, FixedState>>);

struct FenceSum {
    /// Workers of this node and nodes below it that have not reported yet.
    missing: usize,
    /// Workers that answer the trustee directly.
    sum: usize,
}

impl FenceSums {
    fn begin(&self, trustee: usize, missing: usize) {
        self.0.borrow_mut().insert(trustee, FenceSum { missing, sum: 0 });
    }

    /// One has reported. Returns the sum, if it was the last.
    fn add(&self, trustee: usize, more: usize) -> Option<usize> {
        let mut all = self.0.borrow_mut();
        let round = all.get_mut(&trustee)?;
        (round.missing, round.sum) = (round.missing - 1, round.sum + more);
        if round.missing > 0 {
            return None;
        }
        all.remove(&trustee).map(|round| round.sum)
    }
}

impl Worker {
    /// This node in the tree whose root is the node of a trustee, and a function that finds the first worker of another
    /// node of the tree.
    fn in_tree_to(&self, trustee: usize) -> (Tree, impl Fn(u32) -> usize) {
        let Tree { number, count } = self.tree_of_nodes();
        let root = self.shared.peers.as_ref().map_or(0, |peers| peers.node_of(trustee) as u32);
        let tree = Tree { number: (number + count - root) % count, count };
        (tree, move |number| self.first_of_node(((root + number) % count) as usize))
    }

    /// The first workers of the nodes below this one, in the tree whose root is the node of a trustee.
    pub(super) fn nodes_below(&self, trustee: usize) -> Vec<usize> {
        let (tree, first_of) = self.in_tree_to(trustee);
        tree.children().map(first_of).collect()
    }

    /// The worker that the first worker of this node reports the sum to: that of the node above, or the trustee
    /// itself.
    fn above(&self, trustee: usize) -> usize {
        let (tree, first_of) = self.in_tree_to(trustee);
        tree.parent().filter(|parent| *parent > 0).map_or(trustee, first_of)
    }

    /// Asks the first worker of another node for the fences of that and of those below it.
    pub(super) fn ask_node_for_fences(&self, first: usize, trustee: usize) {
        let ask = |_: &mut Root, trustee: u32| with_worker(|here| here.collect_fences(trustee as usize));
        self.tell_worker(first, Delegated::travelling::<Root, _>(ask), trustee as u32);
    }

    fn collect_fences(&self, trustee: usize) {
        let here = self.shared.first..self.shared.first + self.shared.mailboxes.len();
        let below = self.nodes_below(trustee);
        self.end.fence_sums.begin(trustee, here.len() + below.len());
        below.into_iter().for_each(|first| self.ask_node_for_fences(first, trustee));
        for index in here {
            // Also to itself, since requests of threads wait in the inbox.
            if self.shared.mailbox(index).send(Message::Fence { from: trustee }).is_err() {
                // It has ended: it has nothing under way.
                self.add_fences(trustee, 0);
            }
        }
    }

    /// Answers the fence of a trustee of another node, if this worker has ever sent it anything, and reports to the
    /// first worker of its node.
    pub(super) fn answer_fence_from_far(&self, trustee: usize) {
        let is_connected = self.is_connected_to(trustee);
        if is_connected {
            let answer = |_: &mut Root, ()| with_worker(Self::fence_answered_from_far);
            self.tell_worker(trustee, Delegated::travelling::<Root, _>(answer), ());
        }
        if self.index == self.shared.first {
            return self.add_fences(trustee, usize::from(is_connected));
        }
        let told = Message::FenceFromFar { trustee, answers: is_connected };
        // Refused only once that worker has ended, and the rack with it.
        let _ended = self.shared.mailbox(self.shared.first).send(told);
    }

    /// At the first worker of a node: one of its workers, or a node below it, has reported how many answer directly.
    pub(crate) fn add_fences(&self, trustee: usize, more: usize) {
        let Some(sum) = self.end.fence_sums.add(trustee, more) else { return };
        let above = self.above(trustee);
        if above == trustee {
            let told = |_: &mut Root, sum: usize| with_worker(|here| here.fence_answered(sum));
            self.tell_worker(trustee, Delegated::travelling::<Root, _>(told), sum);
        } else {
            let told = |_: &mut Root, (trustee, sum): (u32, usize)| {
                with_worker(|here| here.add_fences(trustee as usize, sum));
            };
            self.tell_worker(above, Delegated::travelling::<Root, _>(told), (trustee as u32, sum));
        }
    }
}
