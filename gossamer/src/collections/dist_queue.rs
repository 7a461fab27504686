//! [`DistQueue`]: work that makes more work, shared by all workers until none is left.

use crate::collections::near::some_part;
use crate::collections::outstanding::{Claim, CurrentLoop, Outstanding, StopOnDrop, give_back};
use crate::collections::{DistVec, Elements, Layout};
use crate::lane::catch::resume_saying;
use crate::lane::operation::refuse_captures;
use crate::trust::{rethrow, spawn_around};
use crate::wire::captured::Captured;
use crate::worker::Cancelled;
use crate::{NoRef, Trust, Trustee, WithoutCaptures, entrust, sleep, yield_now};
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::time::Duration;

/// Items that a worker takes from its own part at a time: nobody else can take them then.
const MOST_IN_HAND: usize = 32;
/// Items that it takes from the part of another worker.
const MOST_STOLEN: usize = 1024;
/// How long a worker without work waits before it looks again: at first, and at most.
const IDLE: [Duration; 2] = [Duration::from_micros(20), Duration::from_millis(2)];

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
        self.extend([item]);
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
        let mut items: Vec<T> = items.into_iter().collect();
        let own = |part: &mut VecDeque<T>| part.extend(items.drain(..));
        if self.own(own).is_none() {
            let extend = const { |part: &mut VecDeque<T>, items: Vec<T>| part.extend(items) };
            self.parts.update_with(0, extend, items);
        }
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
        self.len() == 0
    }

    /// Calls a closure for each item, and for each item that the closure adds to the list it is given, on all
    /// workers, until there are none. The closure runs in a fiber, so it may wait. Items that others
    /// [`push`](Self::push) meanwhile are done as well, if they are there before the queue is found empty.
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
    /// A queue has one loop at a time: another one waits until that has ended. So an item must not start a loop over
    /// its own queue, which would wait for itself.
    ///
    /// # Cost
    /// A fiber on each worker. Every 32 items of a worker take one request to the caller's worker, which counts what
    /// remains; stealing up to 1024 items takes one request to the other worker. A worker without work asks each of
    /// the others, and again after 20 us, then after twice as long each time, up to 2 ms.
    ///
    /// # Panics
    /// If the closure panics: the items that other workers have in hand are done, and all others but the failed one
    /// stay in the queue. If an item cannot travel to another node that takes it, with up to 1023 others, which are lost.
    /// Where the caller cannot wait; on a thread that is not a worker.
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

    #[track_caller]
    fn run<N, C: NoRef + Clone, F, G>(&self, closure: F, arguments: C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, &mut Vec<T>),
    {
        loop {
            let claim = Claim::wait_for(&self.under_way);
            // Items that others push meanwhile are not counted, so the workers may end before these are done.
            let items = self.len();
            if items == 0 {
                return;
            }
            self.run_counted::<N, _, _, _>(items, claim, closure, &arguments);
        }
    }

    /// Runs until this many items, and those that follow from them, are done.
    #[track_caller]
    fn run_counted<N, C: NoRef + Clone, F, G>(&self, items: usize, claim: Claim, closure: F, arguments: &C)
    where
        F: FnOnce(C) -> G + Send + Copy + 'static,
        G: Fn(T, &mut Vec<T>),
    {
        let id = claim.id();
        let remaining = entrust(Outstanding { items, is_stopped: false, _claim: claim });
        let fiber = move |(number, queue, remaining, arguments): (usize, Self, Trust<Outstanding>, C)| {
            // If an item that others have cannot travel, the loop ends, too.
            let _stop = StopOnDrop(remaining.clone());
            queue.work(number, &remaining, closure(arguments));
        };
        // If the caller is cancelled, they end with their present items, so that no item is lost.
        let _stop = StopOnDrop(remaining.clone());
        let mut fibers = Vec::new();
        // Not `map`, whose closure would be named as the caller when a panic is reported.
        for (number, trustee) in self.parts.trustees().into_iter().enumerate() {
            let arguments = (number, self.clone(), remaining.clone(), arguments.clone());
            fibers.push(spawn_around::<N, _, _, _>(trustee, fiber, arguments, Location::caller()));
        }
        let mut first = None;
        for fiber in fibers {
            if let Err(error) = fiber.try_join() {
                first.get_or_insert(error);
            }
        }
        self.under_way.apply_with(give_back, id);
        if let Some(error) = first {
            rethrow(error, Location::caller());
        }
    }

    /// What the fiber of one worker does.
    fn work(&self, number: usize, remaining: &Trust<Outstanding>, mut each: impl FnMut(T, &mut Vec<T>)) {
        let mut idle = IDLE[0];
        loop {
            let mut hand = self.take_own();
            if hand.is_empty() {
                hand = self.steal(number);
            }
            let (had, mut more) = (hand.len(), Vec::new());
            let outcome = call_each(&mut hand, &mut more, &mut each);
            // Counted before others can take the new items, so that none is done before it is counted.
            let done = had - hand.len();
            let is_over = remaining.apply_with(Outstanding::count, (more.len(), done, outcome.is_err()));
            self.extend(hand.into_iter().chain(more));
            if let Err(payload) = outcome {
                resume_saying(payload, |message| format!("an item of a queue: {message}"));
            }
            if is_over {
                return;
            }
            if had == 0 {
                sleep(idle);
                idle = (2 * idle).min(IDLE[1]);
            } else {
                idle = IDLE[0];
                yield_now();
            }
        }
    }

    /// The last of this worker's items, at most half of them, so that others find some.
    fn take_own(&self) -> VecDeque<T> {
        let take =
            |part: &mut VecDeque<T>| part.split_off(part.len() - part.len().div_ceil(2).min(MOST_IN_HAND));
        self.own(take).unwrap_or_default()
    }

    /// Applies a closure to this worker's part, if it has one.
    #[track_caller]
    fn own<R>(&self, closure: impl FnOnce(&mut VecDeque<T>) -> R) -> Option<R> {
        let own = some_part(&self.parts, Trustee::here())?;
        self.parts.parts[own].apply_here(|part| part.first_mut().map(closure))
    }

    /// The first items of another worker, at most half of them. All but a few go into this worker's part.
    fn steal(&self, number: usize) -> VecDeque<T> {
        let take = const {
            |part: &mut VecDeque<T>, ()| {
                part.drain(..part.len().div_ceil(2).min(MOST_STOLEN)).collect::<Vec<_>>()
            }
        };
        let workers = self.parts.len();
        for other in (number + 1..workers).chain(0..number) {
            let stolen = self.parts.update_with(other, take, ());
            if !stolen.is_empty() {
                self.extend(stolen);
                return self.take_own();
            }
        }
        VecDeque::new()
    }
}

/// Calls the closure for the items in hand, the last one first. After a panic the remaining ones stay.
fn call_each<T>(
    hand: &mut VecDeque<T>,
    more: &mut Vec<T>,
    each: &mut impl FnMut(T, &mut Vec<T>),
) -> Result<(), Box<dyn Any + Send>> {
    let run = AssertUnwindSafe(|| {
        while let Some(item) = hand.pop_back() {
            each(item, more);
        }
    });
    match catch_unwind(run) {
        Err(payload) if payload.is::<Cancelled>() => resume_unwind(payload),
        outcome => outcome,
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
