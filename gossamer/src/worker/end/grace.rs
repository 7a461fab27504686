//! When a property may be dropped: not when its last trust goes, but when every request that was sent before has
//! been served.
//!
//! Inside one process a trust is counted as an `Arc` is. A request sent by `apply_then` may still be under way, on
//! the lane of any worker, when the last trust goes. So the trustee asks every worker for an answer that arrives
//! behind everything that worker has sent it (a *fence*); when all have answered, and what lay in the inbox is done,
//! the properties that lost their last trust before the round began are dropped. One round serves all of them.
//!
//! A trust that goes to another node is counted by the node that sent it (`worker/nodes/lending.rs`). A property that
//! other nodes have known is dropped after a round in which all their workers have answered that ever sent something
//! to this trustee. Their number comes up a tree of the nodes (`fences.rs`).
//!
//! Invariants
//! - G1: properties are dropped only from the worker's loop, where no delegated closure runs and so no reference
//!   to one exists (R3).
//! - G2: an index is used again only after a whole round that began when no trust of its property was left: no
//!   request for it is under way, and none can be made. When the runtime ends, no index is used again.
#![allow(unsafe_code, reason = "dropping a property needs the proof of this module (G1, G2)")]

use crate::lane::catch;
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::worker::mailbox::inbox::Message;
use crate::worker::{Worker, with_worker};
use std::cell::{Cell, RefCell};

/// The properties of one trustee that have lost their last trust.
#[derive(Default)]
pub(crate) struct Grace {
    /// Those for the next round.
    waiting: RefCell<Vec<u32>>,
    /// Whether other nodes have known one of them.
    travelled: Cell<bool>,
    /// Those of the round under way.
    round: RefCell<Vec<u32>>,
    /// What the round still needs: an answer of each worker of this node, a sum of each node below it.
    missing: Cell<usize>,
    /// The answers of workers of other nodes that are missing according to the sums; negative if more have answered
    /// while sums are missing.
    far: Cell<isize>,
}

impl Grace {
    /// Whether a property still waits to be dropped.
    pub(crate) fn is_pending(&self) -> bool {
        !self.waiting.borrow().is_empty() || !self.round.borrow().is_empty()
    }

    fn retire(&self, property: u32, travelled: bool) {
        self.waiting.borrow_mut().push(property);
        self.travelled.set(self.travelled.get() || travelled);
    }

    /// Whether properties wait, and no round is under way.
    #[inline]
    fn needs_round(&self) -> bool {
        !self.waiting.borrow().is_empty() && self.round.borrow().is_empty()
    }

    /// Begins a round for the waiting properties. Returns whether other nodes also have to answer.
    fn begin(&self) -> bool {
        self.round.swap(&self.waiting);
        self.travelled.take()
    }

    /// A worker of this node has answered, or a node below it has reported its sum: how many workers of it, and of
    /// those below, answer directly. Returns the properties of the round, if it was the last answer.
    fn answered(&self, sum: usize) -> Option<Vec<u32>> {
        self.missing.set(self.missing.get() - 1);
        self.far.set(self.far.get() + sum.cast_signed());
        self.properties_if_over()
    }

    /// A worker of another node has answered. Returns the properties of the round, if it was the last answer.
    fn answered_from_far(&self) -> Option<Vec<u32>> {
        self.far.set(self.far.get() - 1);
        self.properties_if_over()
    }

    fn properties_if_over(&self) -> Option<Vec<u32>> {
        (self.missing.get() == 0 && self.far.get() == 0).then(|| self.round.borrow().clone())
    }
}

impl Worker {
    /// The last trust of a property of this worker is gone: drop it when no request for it is under way.
    pub(crate) fn retire(&self, property: u32, travelled: bool) {
        self.end.grace.retire(property, travelled);
    }

    /// Starts a round if one is needed and none is under way. Called once a turn, so that a round takes many.
    #[inline]
    pub(crate) fn start_grace_round(&self) -> bool {
        let needed = self.end.grace.needs_round();
        if needed {
            self.ask_for_fences();
        }
        needed
    }

    fn ask_for_fences(&self) {
        let travelled = self.end.grace.begin();
        let here = self.shared.first..self.shared.first + self.shared.mailboxes.len();
        let below = if travelled { self.nodes_below(self.index) } else { Vec::new() };
        self.end.grace.missing.set(here.len() + below.len());
        for index in here {
            if index == self.index {
                self.answer_fence(index);
            } else if self.shared.mailbox(index).send(Message::Fence { from: self.index }).is_err() {
                // It has ended: it has nothing under way.
                self.fence_answered(0);
            }
        }
        below.into_iter().for_each(|first| self.ask_node_for_fences(first, self.index));
    }

    /// Answers the fence of a trustee, behind every request this worker has sent it.
    pub(crate) fn answer_fence(&self, trustee: usize) {
        if !self.shared.is_here(trustee) {
            return self.answer_fence_from_far(trustee);
        }
        if self.is_connected_to(trustee) {
            let answer = |_: &mut Root, ()| with_worker(|here| here.fence_answered(0));
            self.tell(trustee, Delegated::of::<Root, _>(answer), ());
        } else if trustee == self.index {
            self.fence_answered(0);
        } else {
            // Refused only once the trustee has ended.
            let _ended = self.shared.mailbox(trustee).send(Message::FenceAnswer);
        }
    }

    /// One worker of this node has answered, or a node below it has reported its sum.
    pub(crate) fn fence_answered(&self, sum: usize) {
        self.release(self.end.grace.answered(sum));
    }

    /// One worker of another node has answered.
    pub(super) fn fence_answered_from_far(&self) {
        self.release(self.end.grace.answered_from_far());
    }

    /// After the last answer the round goes through this worker's own inbox, behind the requests of other threads.
    fn release(&self, properties: Option<Vec<u32>>) {
        if let Some(properties) = properties {
            // Refused only once this worker has ended, and its properties with it.
            let _ended = self.shared.mailbox(self.index).send(Message::Release { properties });
        }
    }

    /// The round is over: drops its properties.
    pub(crate) fn end_grace_round(&self, properties: &[u32]) {
        self.end.grace.round.borrow_mut().clear();
        self.drop_properties(properties, true);
    }

    /// Drops all properties of this worker, because the runtime ends. Requests for them fail from now on.
    pub(crate) fn drop_all_properties(&self) {
        self.drop_properties(&self.properties.indices(), false);
    }

    fn drop_properties(&self, properties: &[u32], reuse: bool) {
        for &property in properties {
            // SAFETY: G1: this is called from the loop. G2: `reuse` is set after a round only.
            let outcome = catch::delegated(|| unsafe { self.properties.remove(property, reuse) });
            if let Err(caught) = outcome {
                let place = caught.place.as_deref().unwrap_or("an unknown place");
                eprintln!("gossamer: dropping a property panicked at {place}: {}", caught.message);
            }
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::Grace;

    /// Two workers here, and nodes below with three and no workers that answer by themselves.
    const SUMS: [usize; 4] = [0, 0, 3, 0];
    const FAR: usize = 3;

    #[test]
    fn a_round_is_over_with_its_last_answer_in_whatever_order_they_come() {
        for seed in 0..2000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let grace = Grace::default();
            // One round behind another: nothing is left of the first.
            for property in [5, 6] {
                grace.retire(property, true);
                assert!(grace.needs_round() && grace.begin());
                grace.missing.set(SUMS.len());
                let mut answers: Vec<Option<usize>> = SUMS.into_iter().map(Some).chain([None; FAR]).collect();
                random.shuffle(&mut answers);
                let last = answers.len() - 1;
                for (place, answer) in answers.into_iter().enumerate() {
                    let over = answer.map_or_else(|| grace.answered_from_far(), |sum| grace.answered(sum));
                    assert_eq!(over, (place == last).then(|| vec![property]), "seed {seed}");
                }
                grace.round.borrow_mut().clear();
            }
            assert!(!grace.is_pending());
        }
    }
}
