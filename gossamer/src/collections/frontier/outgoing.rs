//! [`Outgoing`]: what follows from the elements of a front, gathered by destination.

use crate::NoRef;
use crate::collections::combining::IndexSet;
use crate::collections::dist_vec::out_of_range;
use crate::collections::filling::Gathered;
use crate::collections::updates::Updates;
use crate::sys::memory::large_pages;
use std::any::Any;
use std::fmt;

/// What a worker has sent in the rounds of a front.
#[derive(Default)]
pub(super) struct Sent {
    /// For [`Outgoing::once`].
    once: IndexSet,
    /// For [`Outgoing::least`]: a list for the type of the arguments.
    least: Option<Box<dyn Any>>,
}

/// Takes what follows from an element of a front: indices of elements, and an argument for each, with which a closure is applied to it
/// ([`Expansion::apply`](crate::collections::Expansion::apply)).
pub struct Outgoing<A: NoRef> {
    pub(super) updates: Updates<A>,
    /// Batches that are to be sent, and the part of each.
    pub(super) full: Vec<(usize, Gathered<A>)>,
    /// For [`least`](Self::least), with an entry for each element of the vector.
    least: Vec<Option<A>>,
}

impl<A: NoRef> Outgoing<A> {
    /// For a fiber that continues with what an earlier round has sent.
    pub(super) fn new(updates: Updates<A>, sent: Sent) -> Self {
        let least = sent.least.and_then(|least| least.downcast().ok()).map_or_else(Vec::new, |least| *least);
        let updates = updates.with_sent(sent.once);
        Self { updates, full: Vec::new(), least }
    }

    /// For the fiber of the next round.
    pub(super) fn take_sent(&mut self) -> Sent {
        let least = std::mem::take(&mut self.least);
        // Most rounds have none, and so need no memory.
        let least = (!least.is_empty()).then(|| Box::new(least) as Box<dyn Any>);
        Sent { once: self.updates.take_sent(), least }
    }

    /// Adds an update. Panics if there is no such element.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let links = DistVec::from_vec(3, vec![vec![1, 2], vec![2], vec![]]);
    /// let ranks = DistVec::filled(3, 1.0);
    /// let mut front = Frontier::of(&ranks);
    /// (0..3).for_each(|page| front.mark(page));
    /// front.swap();
    /// front
    ///     .par_for_each(&links, |_, rank: &f64, row: &Vec<usize>, out| {
    ///         row.iter().for_each(|page| out.push(*page, rank / row.len() as f64)); // each gets its share
    ///     })
    ///     .apply(|rank, share, _| *rank += share);
    /// assert_eq!(ranks.to_vec(), [1.0, 1.5, 2.5]);
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn push(&mut self, index: usize, argument: A) {
        let full = self.updates.gather(index, argument);
        self.set_aside(full);
    }

    /// Like [`push`](Self::push), unless this worker has already sent an update for this element, in any round: for
    /// updates of which only the first counts, as in a breadth-first search. It uses a bit for each element of the
    /// vector, on each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let graph = DistVec::from_vec(3, vec![vec![2], vec![2], vec![]]);
    /// let parents = DistVec::filled(3, u32::MAX);
    /// let mut front = Frontier::of(&parents);
    /// [0, 1].map(|root| front.mark(root));
    /// front.swap();
    /// let sent = front
    ///     .par_for_each(&graph, |u, _, row: &Vec<usize>, out| row.iter().for_each(|v| out.once(*v, u as u32)))
    ///     .apply(|parent, u, _| *parent = u);
    /// assert_eq!(sent, 1); // both have found element 2, which needs one parent
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn once(&mut self, index: usize, argument: A) {
        if !self.updates.has_sent(index) {
            self.send_first(index, argument);
        }
    }

    /// Not inlined: the loop of a caller that finds most elements sent already then keeps its variables in registers.
    #[inline(never)]
    #[track_caller]
    fn send_first(&mut self, index: usize, argument: A) {
        let full = self.updates.gather_once(index, argument);
        self.set_aside(full);
    }

    /// Like [`push`](Self::push), unless this worker has already sent an equal or smaller argument for this element,
    /// in any round: for updates that only count if they are smaller than the present value, such as the length of a
    /// path. It uses an `Option<A>` for each element of the vector, on each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let graph = DistVec::from_vec(3, vec![vec![(2, 3_u64)], vec![(2, 9)], vec![]]);
    /// let distances = DistVec::filled(3, u64::MAX);
    /// let mut front = Frontier::of(&distances);
    /// [0, 1].map(|root| front.mark(root));
    /// front.swap();
    /// let sent = front
    ///     .par_for_each(&graph, |_, _, row: &Vec<(usize, u64)>, out| {
    ///         row.iter().for_each(|(to, way)| out.least(*to, *way));
    ///     })
    ///     .apply(|distance, way, _| *distance = way.min(*distance));
    /// assert_eq!((sent, distances.get(2)), (1, 3)); // the way of 9 is not sent
    /// # });
    /// ```
    #[inline]
    #[track_caller]
    pub fn least(&mut self, index: usize, argument: A)
    where
        A: PartialOrd + Clone,
    {
        let sent = self.least.get(index).and_then(Option::as_ref);
        if !sent.is_some_and(|sent| *sent <= argument) {
            self.send_less(index, argument);
        }
    }

    /// Not inlined, for the same reason as [`send_first`](Self::send_first).
    #[inline(never)]
    #[track_caller]
    fn send_less(&mut self, index: usize, argument: A)
    where
        A: Clone,
    {
        let spread = self.updates.spread();
        if index >= spread.len() {
            out_of_range(index, spread);
        }
        if self.least.is_empty() {
            self.least = large_pages::with_capacity(spread.len());
            self.least.resize(spread.len(), None);
        }
        self.least[index] = Some(argument.clone());
        self.push(index, argument);
    }

    /// Like [`push`](Self::push), but if the gathered batch has an update of this element, combines their arguments
    /// instead of adding one ([`Updates::combine`]).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// use gossamer::collections::{DistVec, Frontier};
    /// let links = DistVec::from_vec(3, vec![vec![2], vec![2], vec![]]);
    /// let ranks = DistVec::filled(3, 1.0);
    /// let mut front = Frontier::of(&ranks);
    /// [0, 1].map(|page| front.mark(page));
    /// front.swap();
    /// front
    ///     .par_for_each(&links, |_, rank: &f64, row: &Vec<usize>, out| {
    ///         row.iter().for_each(|page| out.combine(*page, *rank, |one, other| one + other)); // sends the sum
    ///     })
    ///     .apply(|rank, shares, _| *rank += shares);
    /// assert_eq!(ranks.get(2), 3.0);
    /// # });
    /// ```
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
