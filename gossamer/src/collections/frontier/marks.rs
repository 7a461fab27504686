//! [`Marks`]: which elements of a part are to be visited, now and later.

use crate::collections::combining::IndexSet;
use crate::collections::frontier::buckets::Buckets;
use crate::collections::frontier::outgoing::Sent;
use std::fmt;
use std::rc::Rc;

/// The elements of one part, by their places, that are visited in this round, and those that are marked for a later
/// one.
#[derive(Default)]
pub(in crate::collections) struct Marks {
    buckets: Buckets,
    /// Those of this round, shared with the fiber that visits them.
    pub(super) front: Rc<Vec<u32>>,
    /// By the fibers that have visited them.
    pub(super) sent: Sent,
    /// Those of `front`, while that is made.
    seen: IndexSet,
}

impl Marks {
    /// The number of marks.
    pub(in crate::collections) fn len(&self) -> usize {
        self.buckets.len()
    }

    /// The least priority that has marks.
    pub(super) fn least(&self) -> Option<usize> {
        self.buckets.least()
    }

    #[inline]
    pub(super) fn mark(&mut self, offset: u32, priority: usize) {
        self.buckets.push(priority, offset);
    }

    /// Makes the elements of a priority the front, each once, and returns how many they are. `len` is the number of
    /// elements.
    pub(super) fn swap(&mut self, priority: usize, len: usize) -> usize {
        // First, so that its memory can be used again.
        self.front = Rc::default();
        let mut front = self.buckets.take(priority);
        front.retain(|offset| self.seen.insert(*offset as usize, len));
        if front.len() < len / 64 {
            front.iter().for_each(|offset| self.seen.remove(*offset as usize));
        } else {
            // In order, which costs no more, so that they are visited as they lie in memory.
            front.clear();
            front.extend(self.seen.drain().map(|offset| offset as u32));
        }
        self.front = Rc::new(front);
        self.front.len()
    }

    pub(in crate::collections) fn take_all(&mut self) -> impl Iterator<Item = u32> + use<> {
        self.buckets.take_all()
    }

    /// What may mark the element at a place.
    #[inline(always)]
    pub(in crate::collections) fn next(&mut self, offset: u32) -> Marker<'_> {
        Marker { marks: self, offset }
    }
}

/// Lets the closure of an [`Expansion`](crate::collections::Expansion) mark its element to be visited in a later
/// round.
pub struct Marker<'a> {
    marks: &'a mut Marks,
    offset: u32,
}

impl Marker<'_> {
    /// Marks the element with priority 0: for the next round, if priorities are not used.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let graph = DistVec::from_vec(3, vec![vec![1, 2], vec![], vec![1]]);
    /// let seen = DistVec::filled(3, false);
    /// let mut front = Frontier::of(&seen);
    /// front.mark(0);
    /// let mut rounds = 0;
    /// while front.swap() > 0 {
    ///     rounds += 1;
    ///     let follow = |_, _: &bool, row: &Vec<usize>, out: &mut gossamer::collections::Outgoing<()>| {
    ///         row.iter().for_each(|next| out.push(*next, ()));
    ///     };
    ///     front.par_for_each(&graph, follow).apply(|seen, (), next| {
    ///         if !std::mem::replace(seen, true) {
    ///             next.mark(); // it was reached for the first time: it is in the next front
    ///         }
    ///     });
    /// }
    /// assert_eq!((rounds, seen.to_vec()), (2, vec![false, true, true]));
    /// # });
    /// ```
    #[inline]
    pub fn mark(&mut self) {
        self.mark_at(0);
    }

    /// Marks the element for a round of this priority; the least priority comes first.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let graph = DistVec::from_vec(3, vec![vec![(1, 30_u64), (2, 7)], vec![], vec![]]);
    /// let distances = DistVec::filled(3, 0_u64);
    /// let mut front = Frontier::of(&distances);
    /// front.mark(0);
    /// front.swap();
    /// front
    ///     .par_for_each(&graph, |_, _, row: &Vec<(usize, u64)>, out| {
    ///         row.iter().for_each(|(to, way)| out.push(*to, *way));
    ///     })
    ///     .apply(|distance, way, next| {
    ///         *distance = way;
    ///         next.mark_at((way / 10) as usize); // near ones come first
    ///     });
    /// assert_eq!((front.swap(), front.priority()), (1, 0)); // the one at 7
    /// assert_eq!((front.swap(), front.priority()), (1, 3)); // the one at 30
    /// # });
    /// ```
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
