//! [`Replies`]: the results of many requests, in the order in which they arrive.

use crate::lane::error::{DelegationError, Reason, print};
use crate::lane::operation::refuse_captures;
use crate::structures::local_queue::LocalQueue;
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::trust::{NoRef, Trust};
use crate::wire::captured::Captured;
use crate::worker::{self, with_worker};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::Location;
use std::rc::{Rc, Weak};

/// The results of many requests, each under a key, in the order in which they arrive.
///
/// One fiber sends any number of requests to any trustees with [`apply_into`](Trust::apply_into), and takes the
/// results, or errors, one by one as they arrive. A request inside one process allocates nothing, once the lists have
/// grown to the number of requests under way. A `Replies` stays with its worker, as fibers do; on a thread that is
/// not a worker `apply_into` waits for each result.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::{Replies, Trustee};
/// let shards: Vec<_> = Trustee::all().iter().map(|there| there.entrust(21_u64)).collect();
/// let mut replies = Replies::new();
/// for (number, shard) in shards.iter().enumerate() {
///     shard.apply_into(&replies, number, |value| *value * 2);
/// }
/// while let Some((number, result)) = replies.next() {
///     assert_eq!(result, Ok(42), "of shard {number}");
/// }
/// # });
/// ```
///
/// Dropping it does not stop the requests; their results are dropped as they arrive, and a panic of one of them is
/// printed.
pub struct Replies<K, U> {
    queue: Rc<ReplyQueue<K, U>>,
}

struct ReplyQueue<K, U> {
    arrived: LocalQueue<(K, Result<U, DelegationError>)>,
    /// The keys of requests under way, each in a place of its own: a completion of three words needs no box.
    keys: RefCell<Vec<Option<K>>>,
    vacant: RefCell<Vec<usize>>,
    under_way: Cell<usize>,
    waiting: Cell<Option<Rc<Fiber>>>,
}

impl<K: 'static, U: 'static> Replies<K, U> {
    /// A `Replies` without requests.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let mut squares = gossamer::Replies::new();
    /// let seven = gossamer::Trustee::all()[1].entrust(7_u64);
    /// seven.apply_into(&squares, "seven", |number| *number * *number);
    /// assert_eq!(squares.next(), Some(("seven", Ok(49))));
    /// # });
    /// ```
    pub fn new() -> Self {
        let queue = ReplyQueue {
            arrived: LocalQueue::with_capacity(16),
            keys: RefCell::default(),
            vacant: RefCell::default(),
            under_way: Cell::new(0),
            waiting: Cell::new(None),
        };
        Self { queue: Rc::new(queue) }
    }

    /// Waits for the next result; `None` if no request is under way and all results were taken.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Replies, Trustee};
    /// let count = Trustee::all()[1].entrust(0_u64);
    /// let mut replies = Replies::new();
    /// count.apply_into(&replies, "the first", |count| *count);
    /// assert_eq!(replies.next(), Some(("the first", Ok(0))));
    /// assert_eq!(replies.next(), None);
    /// # });
    /// ```
    ///
    /// # Errors
    /// In the pair, if the closure panicked or its trustee has ended.
    ///
    /// # Panics
    /// In a delegated closure or a callback, which cannot wait.
    #[track_caller]
    #[expect(clippy::should_implement_trait, reason = "more requests may be sent while it is used")]
    pub fn next(&mut self) -> Option<(K, Result<U, DelegationError>)> {
        worker::require_fiber("Replies::next");
        loop {
            let arrived = self.try_next();
            if arrived.is_some() || self.queue.under_way.get() == 0 {
                return arrived;
            }
            let _noted = Fiber::note_wait(Wait::in_call("Replies::next").on(WaitsOn::Others));
            with_worker(|here| {
                self.queue.waiting.set(Some(here.running()));
                here.park();
            });
        }
    }

    /// The next result, if one has arrived.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let far = gossamer::Trustee::all()[1].entrust(7_u64);
    /// let mut replies = gossamer::Replies::new();
    /// assert!(replies.try_next().is_none()); // nothing was asked for
    /// far.apply_into(&replies, "far", |value| *value);
    /// let reply = loop {
    ///     match replies.try_next() {
    ///         Some(reply) => break reply,
    ///         None => gossamer::yield_now(), // or some of the work at hand
    ///     }
    /// };
    /// assert_eq!(reply, ("far", Ok(7)));
    /// # });
    /// ```
    pub fn try_next(&mut self) -> Option<(K, Result<U, DelegationError>)> {
        self.queue.arrived.pop()
    }

    /// The number of results that are still to arrive, or have arrived and were not taken.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Replies, Trustee};
    /// let count = Trustee::all()[1].entrust(0_u64);
    /// let mut replies = Replies::new();
    /// count.apply_into(&replies, (), |count| *count);
    /// assert_eq!(replies.len(), 1); // under way, or there
    /// # replies.next();
    /// # });
    /// ```
    pub fn len(&self) -> usize {
        self.queue.under_way.get() + self.queue.arrived.len()
    }

    /// Whether no result is to arrive or to be taken.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let mut replies = gossamer::Replies::new();
    /// gossamer::entrust(7_u64).apply_into(&replies, (), |value| *value);
    /// assert!(!replies.is_empty()); // it is under way, or has arrived
    /// assert_eq!(replies.next(), Some(((), Ok(7))));
    /// assert!(replies.is_empty());
    /// # });
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn expect(&self, key: K) -> Expected<K, U> {
        let queue = &self.queue;
        queue.under_way.set(queue.under_way.get() + 1);
        let mut keys = queue.keys.borrow_mut();
        let place = queue.vacant.borrow_mut().pop().unwrap_or_else(|| {
            keys.push(None);
            keys.len() - 1
        });
        keys[place] = Some(key);
        Expected { queue: Rc::downgrade(queue), place }
    }
}

/// A result that is under way.
struct Expected<K, U> {
    queue: Weak<ReplyQueue<K, U>>,
    place: usize,
}

impl<K, U> Expected<K, U> {
    fn arrive(self, outcome: Result<U, DelegationError>) {
        let Some(queue) = self.queue.upgrade() else { return tell_failure(outcome) };
        if let Some(key) = queue.take_key(self.place) {
            queue.arrived.push((key, outcome));
        }
    }
}

impl<K, U> Drop for Expected<K, U> {
    fn drop(&mut self) {
        if let Some(queue) = self.queue.upgrade() {
            let key = queue.take_key(self.place);
            queue.vacant.borrow_mut().push(self.place);
            queue.under_way.set(queue.under_way.get() - 1);
            if let Some(fiber) = queue.waiting.take() {
                with_worker(|here| here.fibers.scheduler.unpark(fiber));
            }
            // Last, since dropping the key of a request that was not sent may run code of the program.
            drop(key);
        }
    }
}

impl<K, U> Drop for ReplyQueue<K, U> {
    /// Failures that have arrived are told, as those that arrive later are.
    fn drop(&mut self) {
        while let Some((_, outcome)) = self.arrived.pop() {
            tell_failure(outcome);
        }
    }
}

/// Prints the failure of a request whose result nobody takes any more.
fn tell_failure<U>(outcome: Result<U, DelegationError>) {
    if let Err(error) = outcome
        && !matches!(error.reason(), Reason::Ended | Reason::Cancelled)
    {
        print(&format!("gossamer: {error}; its reply was awaited by nobody\n"));
    }
}

impl<K, U> ReplyQueue<K, U> {
    fn take_key(&self, place: usize) -> Option<K> {
        self.keys.borrow_mut()[place].take()
    }
}

impl<T: 'static> Trust<T> {
    /// Applies a closure without waiting; its result goes to `replies`, under `key`.
    ///
    /// A fiber that sends faster than the trustee serves waits for room on the lane, as with [`apply_then`](Self::apply_then).
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = gossamer::Trustee::all().into_iter().map(|there| there.entrust(1_u64));
    /// let replies = gossamer::Replies::new();
    /// let counts: Vec<_> = counts.inspect(|count| count.apply_into(&replies, "one", |count| *count)).collect();
    /// assert_eq!(replies.len(), counts.len());
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the backlog is far too long, as for [`apply_then`](Self::apply_then).
    #[inline]
    #[track_caller]
    pub fn apply_into<K: 'static, U: NoRef, F>(&self, replies: &Replies<K, U>, key: K, closure: F)
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_into::<F, _, _, _, _>(
            replies,
            key,
            |property, ()| closure(property),
            (),
            Location::caller(),
        );
    }

    /// Like [`apply_into`](Self::apply_into), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Replies, Trustee};
    /// let count = Trustee::all()[1].entrust(0_u64);
    /// let mut replies = Replies::new();
    /// count.apply_with_into(&replies, (), |count, by| { *count += by; *count }, 5);
    /// assert_eq!(replies.next(), Some(((), Ok(5))));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_into`](Self::apply_into).
    #[inline]
    #[track_caller]
    pub fn apply_with_into<C: NoRef, K: 'static, U: NoRef, F>(
        &self,
        replies: &Replies<K, U>,
        key: K,
        closure: F,
        arguments: C,
    ) where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.send_into::<F, _, _, _, _>(replies, key, closure, arguments, Location::caller());
    }

    /// As written by the macros (see `arguments_first`).
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __apply_with_into<C: Captured, K: 'static, U: NoRef, F>(
        &self,
        replies: &Replies<K, U>,
        key: K,
        arguments: C,
        closure: F,
    ) where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        self.apply_with_into(replies, key, closure, arguments);
    }

    pub(crate) fn send_into<N, K: 'static, C: NoRef, U: NoRef, F>(
        &self,
        replies: &Replies<K, U>,
        key: K,
        closure: F,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        let expected = replies.expect(key);
        self.target().call_then::<N, _, _, _, _>(closure, arguments, move |outcome| {
            expected.arrive(outcome.map_err(|error| error.with_sender(sent_from)));
        });
    }
}

impl<K: 'static, U: 'static> Default for Replies<K, U> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K, U> fmt::Debug for Replies<K, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (under_way, arrived) = (self.queue.under_way.get(), self.queue.arrived.len());
        f.debug_struct("Replies").field("under_way", &under_way).field("arrived", &arrived).finish()
    }
}
