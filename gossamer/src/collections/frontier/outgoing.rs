//! [`Outgoing`]: what follows from the elements of a front, gathered by where it goes.

use crate::NoRef;
use crate::collections::combining::IndexSet;
use crate::collections::updates::{Gathered, Updates};
use std::any::Any;
use std::fmt;

/// What a worker has sent in the rounds of a front.
#[derive(Default)]
pub(super) struct Sent {
    /// Of [`Outgoing::once`].
    once: IndexSet,
    /// Of [`Outgoing::least`]: a list for the type of the arguments.
    least: Option<Box<dyn Any>>,
}

/// Takes what follows from an element of a front: indices of elements, and an argument for each, with which a closure is applied to it
/// ([`Expansion::apply`](crate::collections::Expansion::apply)).
pub struct Outgoing<A: NoRef> {
    pub(super) updates: Updates<A>,
    /// Batches that are to be sent, and the part of each.
    pub(super) full: Vec<(usize, Gathered<A>)>,
    /// Of [`least`](Self::least), for each element of the vector.
    least: Vec<Option<A>>,
}

impl<A: NoRef> Outgoing<A> {
    /// That of a fiber which goes on with what an earlier round has sent.
    pub(super) fn new(updates: Updates<A>, sent: Sent) -> Self {
        let least = sent.least.and_then(|least| least.downcast().ok()).map_or_else(Vec::new, |least| *least);
        Self { updates: updates.with_sent(sent.once), full: Vec::new(), least }
    }

    /// For the fiber of the next round.
    pub(super) fn take_sent(&mut self) -> Sent {
        let least = std::mem::take(&mut self.least);
        // Most rounds have none, and need no memory for it.
        let least = (!least.is_empty()).then(|| Box::new(least) as Box<dyn Any>);
        Sent { once: self.updates.take_sent(), least }
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

    /// As [`push`](Self::push), unless this worker has sent as little or less for this element before, in any round: for what counts if it
    /// is less than what is there, as the length of a path. It takes an `Option<A>` for each element of the vector, on each worker.
    #[inline]
    #[track_caller]
    pub fn least(&mut self, index: usize, argument: A)
    where
        A: PartialOrd + Clone,
    {
        if self.least.is_empty() {
            self.least = vec![None; self.updates.len()];
        }
        // One that does not exist is refused by `push`.
        if let Some(least) = self.least.get_mut(index) {
            if least.as_ref().is_some_and(|least| *least <= argument) {
                return;
            }
            *least = Some(argument.clone());
        }
        self.push(index, argument);
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
