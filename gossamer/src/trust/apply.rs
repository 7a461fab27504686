//! [`Trust`]: the handle of a property, and the ways to delegate to it.

use crate::lane::error::DelegationError;
use crate::lane::operation::refuse_captures;
use crate::trust::handle::Handle;
use crate::trust::unawaited::or_report;
use crate::trust::{NoRef, Pending, Trustee};
use crate::wire::captured::Captured;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// A counted handle of a property: an object of type `T` that lives with one trustee.
///
/// A property is never locked. Whoever holds a trust sends closures to the property, and the trustee applies
/// them one by one. A trust may be cloned, sent to any fiber or thread, stored in other properties, and
/// captured by delegated closures. When its last trust is gone, and every request sent before that has been
/// served, the property is dropped on its trustee.
///
/// # Delegated closures
/// A delegated closure may run on another worker, in another process or on another machine. So it must not
/// capture anything by itself: inside a function marked [`#[gossamer::main]`](macro@crate::main) or
/// [`#[gossamer::delegate]`](macro@crate::delegate) its captures are found and sent along; elsewhere, pass
/// them with the `_with` forms. Captures, arguments and results are [`NoRef`].
///
/// Outside of marked functions the compiler does not notice a capture without size and destructor. Such a
/// capture may be a proof that holds in this process only, so these closures stay in their process. What can
/// go to a trustee of another node is a `fn` (except a generic one of the standard library, which looks like
/// a wrapper of a closure), or a closure in a `const { |…| … }` block, which captures nothing. The macros
/// write that block; any other closure is refused with [`Reason::Stays`](crate::Reason::Stays).
///
/// If you write a function that takes any closure and delegates it, take the captures as a separate argument,
/// as the `_with` forms do: nobody can see what a closure in a parameter captures.
///
/// ```
/// use gossamer::{NoRef, Trust};
///
/// fn twice<T, A: NoRef + Clone, F>(trust: &Trust<T>, f: F, arguments: A)
/// where
///     F: FnOnce(&mut T, A) + Send + Copy,
/// {
///     trust.apply_with(f, arguments.clone());
///     trust.apply_with(f, arguments);
/// }
///
/// # gossamer::run(gossamer::Config::default().threads(1), || {
/// let count = gossamer::entrust(0_u64);
/// // `const` for other nodes.
/// twice(&count, const { |count: &mut u64, by| *count += by }, 3);
/// assert_eq!(count.apply(|count| *count), 6);
/// # });
/// ```
///
/// A forbidden capture is an error of `cargo build`; `cargo check` does not find it.
///
/// While a fiber unwinds from a panic, [`std::thread::panicking`] is also true in the delegated closures and
/// callbacks of its worker: the standard library counts panics by thread.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// let counter = gossamer::Trustee::all()[1].entrust(40_u64);
/// let now = counter.apply_with(|count, by| { *count += by; *count }, 2);
/// assert_eq!(now, 42);
/// # });
/// ```
///
/// # Which form
/// | form | waits | result |
/// |---|---|---|
/// | [`apply`](Self::apply) | the fiber does | returned |
/// | [`try_apply`](Self::try_apply) | the fiber does | returned, or why there is none |
/// | [`apply_then`](Self::apply_then) | nobody | given to a callback |
/// | [`apply_async`](Self::apply_async) | whoever uses the [`Pending`] | from the [`Pending`] |
/// | [`apply_into`](Self::apply_into) | whoever takes the next of several | from [`Replies`](crate::Replies) |
/// | [`apply_unawaited`](Self::apply_unawaited) | nobody | none |
///
/// A trustee serves the requests of one fiber in the order in which they were sent. [What they cost](crate#cost).
///
/// # Panics
/// All blocking forms panic, at once and with advice, inside a delegated closure or a callback, which cannot wait.
/// On a thread that is not a worker they block the thread. All forms panic if the runtime of the property has ended,
/// except those that return a `Result`.
pub struct Trust<T: 'static> {
    pub(super) handle: Arc<Handle>,
    /// Copied from the handle, so that a request does not touch the cache line of the count.
    pub(super) number: u32,
    pub(super) property: u32,
    pub(super) of: PhantomData<fn(&mut T)>,
}

impl<T: 'static> Trust<T> {
    /// The trustee that holds the property.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let orders = gossamer::Trustee::all()[1].entrust(vec![7, 8]);
    /// let done = orders.trustee().entrust(Vec::<u64>::new()); // on the same worker
    /// assert_eq!(done.trustee(), gossamer::Trustee::all()[1]);
    /// # });
    /// ```
    pub fn trustee(&self) -> Trustee {
        Trustee::numbered(self.number)
    }

    /// Applies a closure to the property and returns its result.
    ///
    /// The fiber waits while the other fibers of its worker run. On the trustee's own worker the closure runs within
    /// the call; after 250 such calls, 84 that have taken 100 us, or 30 ms, others run first: loops starve nobody.
    ///
    /// To wait for a limited time, use [`timeout`](crate::timeout) with [`apply_async`](Self::apply_async).
    /// The request is served all the same:
    ///
    /// ```
    /// use std::time::Duration;
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let list = gossamer::Trustee::all()[1].entrust(vec![1, 2]);
    /// let length = gossamer::timeout(Duration::from_secs(60), list.apply_async(|list| list.len()));
    /// assert_eq!(length, Ok(2)); // or `Err(Elapsed)`
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics, with its message and both source lines; and in the cases listed under
    /// [Panics](Self#panics).
    #[inline]
    #[track_caller]
    pub fn apply<U: NoRef, F>(&self, closure: F) -> U
    where
        F: FnOnce(&mut T) -> U + Send,
    {
        const { refuse_captures::<F>() };
        match self.target().call::<F, _, _, _>("apply", |property, ()| closure(property), ()) {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    /// Like [`apply`](Self::apply), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let (list, by) = (gossamer::entrust(vec![1, 2]), 10);
    /// let sum = list.apply_with(|list, by| list.iter().map(|number| number * by).sum::<i32>(), by);
    /// assert_eq!(sum, 30);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply`](Self::apply).
    #[inline]
    #[track_caller]
    pub fn apply_with<C: NoRef, U: NoRef, F>(&self, closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send,
    {
        const { refuse_captures::<F>() };
        match self.target().call::<F, _, _, _>("apply", closure, arguments) {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    /// Like [`apply`](Self::apply), but returns an error instead of panicking.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let list = gossamer::entrust(vec![1, 2]);
    /// let error = list.try_apply(|list| list[7]).unwrap_err();
    /// assert!(error.to_string().contains("index out of bounds"));
    /// assert_eq!(list.apply(|list| list.len()), 2); // the property goes on
    /// # });
    /// ```
    ///
    /// # Errors
    /// If the closure panicked, or the runtime of the property has ended.
    ///
    /// # Panics
    /// Where it cannot wait.
    #[inline]
    #[track_caller]
    pub fn try_apply<U: NoRef, F>(&self, closure: F) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T) -> U + Send,
    {
        const { refuse_captures::<F>() };
        let sent_from = Location::caller();
        self.target()
            .call::<F, _, _, _>("try_apply", |property, ()| closure(property), ())
            .map_err(|error| error.with_sender(sent_from))
    }

    /// Like [`try_apply`](Self::try_apply), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let list = gossamer::entrust(vec![1, 2]);
    /// assert_eq!(list.try_apply_with(|list, at: usize| list[at], 1), Ok(2));
    /// let error = list.try_apply_with(|list, at: usize| list[at], 7).unwrap_err();
    /// assert!(error.to_string().contains("index out of bounds"));
    /// # });
    /// ```
    ///
    /// # Errors
    /// Like [`try_apply`](Self::try_apply).
    ///
    /// # Panics
    /// Where it cannot wait.
    #[inline]
    #[track_caller]
    pub fn try_apply_with<C: NoRef, U: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
    ) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T, C) -> U + Send,
    {
        const { refuse_captures::<F>() };
        let sent_from = Location::caller();
        self.target()
            .call::<F, _, _, _>("try_apply", closure, arguments)
            .map_err(|error| error.with_sender(sent_from))
    }

    /// Applies a closure without waiting; `then` is called with its result, on this worker.
    ///
    /// Many are gathered for one batch, which is sent when it is full or when the fiber waits, yields or ends: before
    /// it computes for long, call [`yield_now`](crate::yield_now), or use [`apply_async`](Self::apply_async), which is
    /// sent at once if the trustee has nothing else to do for this worker.
    ///
    /// `then` may capture anything. It must not block: it is not a fiber. If the closure panics, the error is printed
    /// and `then` is dropped. A fiber that sends faster than the trustee serves waits for room on the lane; where
    /// nothing can wait (in a delegated closure or in another callback) requests queue in memory
    /// ([`Config::backlog`](crate::Config::backlog)). On a thread that is not a worker this waits for the
    /// result, since no loop could call `then` later; use [`apply_async`](Self::apply_async) there.
    ///
    /// `then` runs after this call has returned, so it cannot borrow. The compiler suggests `move`, which
    /// takes the variable away; share the variable instead, since callbacks run on this same worker:
    ///
    /// ```
    /// use std::{cell::RefCell, rc::Rc};
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let count = gossamer::Trustee::all()[1].entrust(0_u64);
    /// let seen = Rc::new(RefCell::new(Vec::new()));
    /// for _ in 0..3 {
    ///     let seen = Rc::clone(&seen);
    ///     count.apply_then(|count| { *count += 1; *count }, move |now| seen.borrow_mut().push(now));
    /// }
    /// count.apply(|_| ()); // behind them, so the callbacks have run
    /// assert_eq!(*seen.borrow(), [1, 2, 3]);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the backlog is far too long ([`Config::backlog`](crate::Config::backlog)).
    #[inline]
    #[track_caller]
    pub fn apply_then<U: NoRef, F, R>(&self, closure: F, then: R)
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        const { refuse_captures::<F>() };
        let sent_from = Location::caller();
        self.target().call_then::<F, _, _, _, _>(
            |property, ()| closure(property),
            (),
            or_report(then, sent_from),
        );
    }

    /// Like [`apply_then`](Self::apply_then), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use std::{cell::Cell, rc::Rc};
    /// let counter = gossamer::Trustee::all()[1].entrust(40_u64);
    /// let seen = Rc::new(Cell::new(0));
    /// let note = { let seen = Rc::clone(&seen); move |now| seen.set(now) };
    /// counter.apply_with_then(|count, by| { *count += by; *count }, 2, note); // goes on at once
    /// counter.apply(|_| ()); // behind it, so the callback has run
    /// assert_eq!(seen.get(), 42);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_then`](Self::apply_then).
    #[inline]
    #[track_caller]
    pub fn apply_with_then<C: NoRef, U: NoRef, F, R>(&self, closure: F, arguments: C, then: R)
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        const { refuse_captures::<F>() };
        let sent_from = Location::caller();
        self.target().call_then::<F, _, _, _, _>(closure, arguments, or_report(then, sent_from));
    }

    /// Applies a closure without waiting, and returns a [`Pending`] that receives the result.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let all = gossamer::Trustee::all();
    /// let (one, other) = (all[0].entrust(1_u64), all[1].entrust(2_u64));
    /// let (one, other) = (one.apply_async(|n| *n), other.apply_async(|n| *n)); // both are under way
    /// assert_eq!(one.wait() + other.wait(), 3);
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the backlog is far too long, as for [`apply_then`](Self::apply_then).
    #[inline]
    #[track_caller]
    pub fn apply_async<U: NoRef, F>(&self, closure: F) -> Pending<U>
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.send::<F, _, _, _>(|property, ()| closure(property), (), Location::caller())
    }

    /// Like [`apply_async`](Self::apply_async), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counters: Vec<_> = gossamer::Trustee::all().iter().map(|there| there.entrust(40_u64)).collect();
    /// let add = |count: &mut u64, by: u64| { *count += by; *count };
    /// let pending: Vec<_> = counters.iter().map(|counter| counter.apply_with_async(add, 2)).collect();
    /// for now in pending {
    ///     assert_eq!(now.wait(), 42); // all are under way at once
    /// }
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_async`](Self::apply_async).
    #[track_caller]
    pub fn apply_with_async<C: NoRef, U: NoRef, F>(&self, closure: F, arguments: C) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.send::<F, _, _, _>(closure, arguments, Location::caller())
    }
}

/// The forms that the macros write (see `arguments_first`).
#[doc(hidden)]
impl<T: 'static> Trust<T> {
    #[inline(always)]
    #[track_caller]
    pub fn __apply_with<C: Captured, U: NoRef, F>(&self, arguments: C, closure: F) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send,
    {
        self.apply_with(closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __try_apply_with<C: Captured, U: NoRef, F>(
        &self,
        arguments: C,
        closure: F,
    ) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T, C) -> U + Send,
    {
        self.try_apply_with(closure, arguments)
    }

    #[inline(always)]
    #[track_caller]
    pub fn __apply_with_then<C: Captured, U: NoRef, F, R>(&self, arguments: C, closure: F, then: R)
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        self.apply_with_then(closure, arguments, then);
    }

    #[inline(always)]
    #[track_caller]
    pub fn __apply_with_async<C: Captured, U: NoRef, F>(&self, arguments: C, closure: F) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        self.apply_with_async(closure, arguments)
    }
}

/// Panics in the caller with the error of the trustee.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn rethrow(error: DelegationError, sent_from: &'static Location<'static>) -> ! {
    panic!("{}", error.with_sender(sent_from))
}
