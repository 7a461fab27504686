//! [`Outgoing`]: what follows from the elements of a front, gathered by where it goes.

use crate::NoRef;
use crate::collections::combining::IndexSet;
use crate::collections::updates::{Gathered, Updates};
use std::fmt;

/// Takes what follows from an element of a front: indices of elements, and an argument for each, with which a closure is applied to it
/// ([`Expansion::apply`](crate::collections::Expansion::apply)).
pub struct Outgoing<A: NoRef> {
    pub(super) updates: Updates<A>,
    /// Batches that are to be sent, and the part of each.
    pub(super) full: Vec<(usize, Gathered<A>)>,
}

impl<A: NoRef> Outgoing<A> {
    pub(super) fn new(updates: Updates<A>, sent: IndexSet) -> Self {
        Self { updates: updates.with_sent(sent), full: Vec::new() }
    }

    /// Adds one. Panics if there is no such element.
    #[inline]
    #[track_caller]
    pub fn push(&mut self, index: usize, argument: A) {
        let full = self.updates.gather(index, argument);
        self.set_aside(full);
    }

    /// As [`push`](Self::push), unless this worker has sent one for this element before, in any round: for what counts once, as in a
    /// breadth-first search. It takes a bit for each element of the vector, on each worker.
    #[inline]
    #[track_caller]
    pub fn once(&mut self, index: usize, argument: A) {
        let full = self.updates.gather_once(index, argument);
        self.set_aside(full);
    }

    /// As [`push`](Self::push); but if there is one for this element in the batch that is gathered, their arguments are combined, and
    /// nothing is added ([`Updates::combine`]).
    #[inline]
    #[track_caller]
    pub fn combine(&mut self, index: usize, argument: A, combine: impl FnOnce(A, A) -> A) {
        let full = self.updates.gather_combined(index, argument, combine);
        self.set_aside(full);
    }

    #[inline]
    fn set_aside(&mut self, part: Option<usize>) {
        if let Some(part) = part {
            let batch = self.updates.take(part);
            self.full.push((part, batch));
        }
    }
}

impl<A: NoRef> fmt::Debug for Outgoing<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outgoing").field("updates", &self.updates).field("full", &self.full.len()).finish()
    }
}
