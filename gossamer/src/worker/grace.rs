//! When a property may be dropped: not when its last trust goes, but when every request that was sent before has
//! been served.
//!
//! Inside one process a trust is counted as an `Arc` is. A request sent by `apply_then` may still be under way, on
//! the lane of any worker, when the last trust goes. So the trustee asks every worker for an answer that comes
//! behind all that worker has sent it (a *fence*); when all have answered, and what lay in the inbox is done, the
//! properties that lost their last trust before the round began are dropped. One round serves all of them.
//!
//! Between nodes, where a count cannot be kept in one word, the thesis's symmetric difference of trust ids
//! (3.2.6) counts the nodes that hold a trust; the fence stays the same.
//!
//! Invariants
//! - G1: properties are dropped from the worker's loop only, where no delegated closure runs and so no reference
//!   to one exists (R3).
//! - G2: an index is used again only after a whole round that began when no trust of its property was left: no
//!   request for it is under way, and none can be made. When the runtime ends, no index is used again.
#![allow(unsafe_code, reason = "dropping a property needs the proof of this module (G1, G2)")]

use crate::lane::catch;
use crate::lane::operation::Delegated;
use crate::lane::property::Root;
use crate::worker::inbox::Message;
use crate::worker::{self, Worker};
use std::cell::{Cell, RefCell};

/// The properties of one trustee that have lost their last trust.
#[derive(Default)]
pub(crate) struct Grace {
    /// For the next round.
    waiting: RefCell<Vec<u32>>,
    /// Of the round under way.
    round: RefCell<Vec<u32>>,
    /// Answers the round still needs.
    missing: Cell<usize>,
}

impl Grace {
    /// Whether a property still waits to be dropped.
    pub(crate) fn is_pending(&self) -> bool {
        !self.waiting.borrow().is_empty() || !self.round.borrow().is_empty()
    }
}

impl Worker {
    /// The last trust of a property of this worker is gone: drop it when no request for it is under way.
    pub(crate) fn retire(&self, property: u32) {
        self.grace.waiting.borrow_mut().push(property);
    }

    /// Starts a round if one is needed and none is under way. Called once a turn, so that a round takes many.
    #[inline]
    pub(crate) fn start_grace_round(&self) -> bool {
        if self.grace.waiting.borrow().is_empty() || !self.grace.round.borrow().is_empty() {
            return false;
        }
        self.grace.round.swap(&self.grace.waiting);
        self.grace.missing.set(self.shared.posts.len());
        for index in 0..self.shared.posts.len() {
            if index == self.index {
                self.answer_fence(index);
            } else if self.shared.posts[index].send(Message::Fence { from: self.index }).is_err() {
                // It has ended: it has nothing under way.
                self.fence_answered();
            }
        }
        true
    }

    /// Answers the fence of a trustee, behind every request this worker has sent it.
    pub(crate) fn answer_fence(&self, trustee: usize) {
        if self.is_connected_to(trustee) {
            self.tell(trustee, Delegated::of::<Root, _>(|_: &mut Root, ()| answered_here()), ());
        } else if trustee == self.index {
            self.fence_answered();
        } else {
            // Refused only once the trustee has ended.
            let _ended = self.shared.posts[trustee].send(Message::FenceAnswer);
        }
    }

    /// One worker has answered. After the last, the round goes through this worker's own inbox, behind the requests
    /// of other threads.
    pub(crate) fn fence_answered(&self) {
        self.grace.missing.set(self.grace.missing.get() - 1);
        if self.grace.missing.get() == 0 {
            let properties = self.grace.round.borrow().clone();
            // Refused only once this worker has ended, and its properties with it.
            let _ended = self.shared.posts[self.index].send(Message::Release { properties });
        }
    }

    /// The round is over: drops its properties.
    pub(crate) fn end_grace_round(&self, properties: &[u32]) {
        self.grace.round.borrow_mut().clear();
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

fn answered_here() {
    worker::with(|worker| {
        if let Some(worker) = worker {
            worker.fence_answered();
        }
    });
}
