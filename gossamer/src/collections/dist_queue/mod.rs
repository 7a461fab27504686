//! [`DistQueue`]: work that makes more work, shared by all workers until none is left.

mod work;

use crate::collections::outstanding::{Claim, CurrentLoop};
use crate::collections::{DistVec, Elements, Layout};
use crate::lane::operation::refuse_captures;
use crate::wire::captured::Captured;
use crate::worker::require_fiber;
use crate::{NoRef, Trust, Trustee, WithoutCaptures, entrust};
use std::collections::VecDeque;

/// A queue with a part on each worker: a work list whose items make further items, as in a search or a traversal.
///
/// A worker goes through its own part from the end; when that is empty it takes half of another worker's part, from
/// the start (work stealing, Blumofe and Leiserson, 1999). So the order of items is not defined. Handles are cloned
/// and sent like trusts, and all refer to the same queue.
///
/// ```
/// use gossamer::collections::DistQueue;
///
/// #[gossamer::delegate]
/// fn count_leaves(depth: u32) -> u64 {
///     let (queue, leaves) = (DistQueue::new(), gossamer::entrust(0_u64));
///     queue.push(depth);
///     let counted = leaves.clone();
///     queue.par_for_each(move |depth, more| {
///         if depth == 0 {
///             counted.apply_then(|leaves| *leaves += 1, drop);
///         } else {
///             more.extend([depth - 1; 2]);
///         }
///     });
///     gossamer::rack::wait_all();
///     leaves.apply(|leaves| *leaves)
/// }
///
/// assert_eq!(gossamer::run(gossamer::Config::default().threads(2), || count_leaves(10)), 1024);
/// ```
#[derive(NoRef)]
pub struct DistQueue<T: NoRef> {
    /// One element on each worker, in their order.
    pub(super) parts: DistVec<VecDeque<T>>,
    under_way: Trust<CurrentLoop>,
}

impl<T: NoRef> DistQueue<T> {
    /// An empty queue, over all workers of all nodes.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistQueue;
    /// let work = DistQueue::<u64>::new();
    /// assert!(work.is_empty());
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait; on a thread that is not a worker.
    #[track_caller]
    #[must_use]
    pub fn new() -> Self {
        require_fiber("new");
        Self::on(&Trustee::all())
    }

    /// An empty queue over these workers, which are those that go through it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(3), || {
    /// use gossamer::{Trustee, collections::DistQueue};
    /// let work = DistQueue::on(&Trustee::all()[1..]);
    /// work.extend([1_u64, 2]); // by a request: this worker has no part
    /// work.par_for_each(|_item, _more| assert_ne!(Trustee::here(), Trustee::all()[0]));
    /// # });
    /// ```
    ///
    /// # Panics
    /// If `trustees` is empty; where the caller cannot wait.
    #[track_caller]
    #[must_use]
    pub fn on(trustees: &[Trustee]) -> Self {
        require_fiber("on");
        let layout = Layout::block(trustees.len()).on(trustees);
        Self { parts: DistVec::from_fn(layout, const { |_| VecDeque::new() }), under_way: entrust(None) }
    }

    /// Adds an item to the caller's own part, without a request. A worker that has no part needs one request.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistQueue;
    /// let queue = DistQueue::new();
    /// queue.push(1_u64);
    /// assert_eq!(queue.len(), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// In a delegated closure or a callback; on a thread that is not a worker.
    #[track_caller]
    pub fn push(&self, item: T) {
        require_fiber("push");
        self.add([item]);
    }

    /// Like [`push`](Self::push), for several items.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistQueue;
    /// let queue = DistQueue::new();
    /// queue.extend(0..10_u64);
    /// assert_eq!(queue.len(), 10);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`push`](Self::push).
    #[track_caller]
    pub fn extend(&self, items: impl IntoIterator<Item = T>) {
        require_fiber("extend");
        self.add(items);
    }

    /// How many items there are. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let work = gossamer::collections::DistQueue::new();
    /// work.extend(["tea", "milk"].map(str::to_owned));
    /// assert_eq!(work.len(), 2);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn len(&self) -> usize {
        require_fiber("len");
        let len = const { |part: &mut Elements<VecDeque<T>>| part.iter().map(VecDeque::len).sum::<usize>() };
        self.parts.map_all(len).into_iter().sum()
    }

    /// Whether there are none. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let queue = gossamer::collections::DistQueue::new();
    /// assert!(queue.is_empty());
    /// queue.push(1_u64);
    /// assert!(!queue.is_empty());
    /// # });
    /// ```
    ///
    /// # Panics
    /// Where the caller cannot wait.
    #[track_caller]
    pub fn is_empty(&self) -> bool {
        require_fiber("is_empty");
        self.len() == 0
    }

    /// Takes all items, in no defined order. A loop that is under way ends first. One request for each worker.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let work = gossamer::collections::DistQueue::new();
    /// work.extend([1_u64, 2, 3]);
    /// let mut left = work.drain();
    /// left.sort_unstable();
    /// assert_eq!((left, work.len()), (vec![1, 2, 3], 0));
    /// # });
    /// ```
    ///
    /// # Panics
    /// In an item of a loop over this queue, which would wait for itself. If an item cannot travel to the caller's
    /// node, with the other items of its worker, which are lost. Where the caller cannot wait.
    #[track_caller]
    #[must_use = "the items are dropped otherwise"]
    pub fn drain(&self) -> Vec<T> {
        require_fiber("drain");
        let _claim = Claim::wait_for(&self.under_way);
        let take = const {
            |parts: &mut Elements<VecDeque<T>>| parts.iter_mut().flat_map(std::mem::take).collect::<Vec<T>>()
        };
        self.parts.map_all(take).into_iter().flatten().collect()
    }

    /// Calls a closure for each item, and for each item that the closure adds to the list it is given, on all
    /// workers, until there are none. Items that others [`push`](Self::push) meanwhile are done as well, if they are
    /// there before the queue is found empty.
    ///
    /// Each worker goes through its items one by one, in a fiber, so the closure may wait. Meanwhile up to 31 items
    /// that the worker has taken with this one wait, and so do those that they have added: what waits long is better
    /// left to a fiber of its own, and an item must not wait for another one.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::DistQueue;
    /// let halves = DistQueue::new();
    /// halves.push(0..1000_u64);
    /// halves.par_for_each(|range, more| {
    ///     if range.end - range.start > 10 {
    ///         let middle = range.start.midpoint(range.end);
    ///         more.extend([range.start..middle, middle..range.end]); // any worker may do these
    ///     }
    /// });
    /// assert!(halves.is_empty());
    /// # });
    /// ```
    ///
    /// A queue has one loop at a time: another one waits until that has ended.
    ///
    /// # Cost
    /// A fiber on each worker. Every 32 items of a worker take one request to the caller's worker, which counts what
    /// remains; stealing up to 1024 items takes one request to the other worker. A worker without work asks each of
    /// the others, and again after 20 us, then after twice as long each time, up to 2 ms.
    ///
    /// # Panics
    /// If the closure panics: the items that other workers have in hand are done, and all others but the failed one
    /// stay in the queue. If an item cannot travel to another node that takes it, with up to 1023 others, which are
    /// lost. In an item of a loop over this queue, which would wait for itself. Where the caller cannot wait; on a
    /// thread that is not a worker.
    #[track_caller]
    pub fn par_for_each<F>(&self, closure: F)
    where
        F: FnOnce(T, &mut Vec<T>) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        self.run::<F, _, _, _>(move |()| move |item, more: &mut Vec<T>| closure(item, more), ());
    }

    /// Like [`par_for_each`](Self::par_for_each), with `arguments`, which each call gets by reference.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::collections::{DistCounter, DistQueue};
    /// let (ranges, seen) = (DistQueue::new(), DistCounter::new());
    /// ranges.push(0..100_u64);
    /// let halve = |range: std::ops::Range<u64>, more: &mut Vec<std::ops::Range<u64>>, seen: &DistCounter| {
    ///     match range.end - range.start {
    ///         1 => seen.add(1),
    ///         len => more.extend([range.start..range.start + len / 2, range.start + len / 2..range.end]),
    ///     }
    /// };
    /// ranges.par_for_each_with(halve, seen.clone());
    /// assert_eq!(seen.sum(), 100);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`par_for_each`](Self::par_for_each).
    #[track_caller]
    pub fn par_for_each_with<C: NoRef + Clone, F>(&self, closure: F, arguments: C)
    where
        F: Fn(T, &mut Vec<T>, &C) + Send + WithoutCaptures + 'static,
    {
        const { refuse_captures::<F>() };
        let lend = move |arguments: C| move |item, more: &mut Vec<T>| closure(item, more, &arguments);
        self.run::<F, _, _, _>(lend, arguments);
    }

    /// As written by the macros (see `trust::arguments_first`).
    #[doc(hidden)]
    #[track_caller]
    pub fn __par_for_each_with<C: Captured + Clone, F, G>(&self, arguments: C, closure: F)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, &mut Vec<T>),
    {
        const { refuse_captures::<F>() };
        self.run::<F, _, _, _>(closure, arguments);
    }
}

impl<T: NoRef> Clone for DistQueue<T> {
    fn clone(&self) -> Self {
        Self { parts: self.parts.clone(), under_way: self.under_way.clone() }
    }
}

impl<T: NoRef> Default for DistQueue<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}
