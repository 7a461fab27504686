//! [`Marks`]: which elements of a part are to be visited, now and later.

use crate::collections::combining::IndexSet;
use crate::collections::frontier::outgoing::Sent;
use std::collections::BTreeMap;
use std::fmt;

/// Of the elements of one part, by their places: those that are visited in this round, and those that are marked for a later one.
#[derive(Default)]
pub(in crate::collections) struct Marks {
    /// By their priorities.
    buckets: BTreeMap<usize, Vec<u32>>,
    /// Of this round. A fiber that visits them takes them meanwhile.
    pub(super) front: Vec<u32>,
    /// By the fibers that have visited them.
    pub(super) sent: Sent,
    /// Those of `front`, while that is made.
    seen: IndexSet,
}

impl Marks {
    /// How many are marked.
    pub(in crate::collections) fn len(&self) -> usize {
        self.buckets.values().map(Vec::len).sum()
    }

    /// The least priority for which one is marked.
    pub(super) fn least(&self) -> Option<usize> {
        self.buckets.first_key_value().map(|(priority, _)| *priority)
    }

    pub(super) fn mark(&mut self, offset: u32, priority: usize) {
        self.buckets.entry(priority).or_default().push(offset);
    }

    /// Makes those of a priority the front, each once, and says how many these are. `len` is the number of elements.
    pub(super) fn swap(&mut self, priority: usize, len: usize) -> usize {
        self.front = self.buckets.remove(&priority).unwrap_or_default();
        self.front.retain(|offset| self.seen.insert(*offset as usize, len));
        if self.front.len() < len / 64 {
            self.front.iter().for_each(|offset| self.seen.remove(*offset as usize));
        } else {
            // In their order, which costs no more: so they are visited as they lie in memory.
            self.front.clear();
            self.front.extend(self.seen.drain().map(|offset| offset as u32));
        }
        self.front.len()
    }

    pub(in crate::collections) fn take_all(&mut self) -> impl Iterator<Item = u32> + use<> {
        std::mem::take(&mut self.buckets).into_values().flatten()
    }

    /// What may mark the element at a place.
    #[inline(always)]
    pub(in crate::collections) fn next(&mut self, offset: u32) -> Marker<'_> {
        Marker { marks: self, offset }
    }
}

/// By which the closure of an [`Expansion`](crate::collections::Expansion) says that the element it is applied to is to be visited in a later round.
pub struct Marker<'a> {
    marks: &'a mut Marks,
    offset: u32,
}

impl Marker<'_> {
    /// In the next round, if there are no priorities: with priority 0.
    #[inline]
    pub fn mark(&mut self) {
        self.mark_at(0);
    }

    /// In a round of this priority; those with the least come first.
    #[inline]
    pub fn mark_at(&mut self, priority: usize) {
        self.marks.mark(self.offset, priority);
    }
}

impl fmt::Debug for Marker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Marker").field("offset", &self.offset).finish()
    }
}
