//! [`scope`]: fibers of one worker that may borrow.
//!
//! Invariants
//! - A5: `Children` has the fibers of a scope whose job is neither over nor dropped. What removes one (`Running`) is
//!   dropped last: after the body with its captures, and after a result that nobody awaits.
//! - A6: `scope` is not left while it has such a fiber, neither by returning nor by unwinding. A panic of its body is
//!   caught first; the wait cannot be unwound by a cancellation (`wait_until`); a panic in the wait would abort the
//!   process.
//! - A7: the fibers of a scope are of the worker of the fiber that opened it, since `Scope` is neither `Send` nor
//!   `Sync`. If this worker stops with fibers in the middle of their jobs (X5), none of them is resumed, unwound or
//!   freed. So what they have borrowed from the stack of another fiber stays, and jobs that have not begun are dropped
//!   while it is there.

use crate::lane::error::{DelegationError, Origin, Reason};
use crate::structures::inline_closure::InlineClosure;
use crate::structures::oneshot;
use crate::sys::fibers::fiber::Fiber;
use crate::sys::fibers::job::{Job, JobId};
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::trust::Pending;
use crate::trust::apply::rethrow;
use crate::trust::cancel::Canceller;
use crate::trust::job::run_job;
use crate::trust::join::refuse_while_unwinding;
use crate::trust::local::{on_worker, submit};
use crate::trust::scope_failures::Failures;
use crate::trust::spawn::refuses_fibers;
use crate::worker::{Worker, require_fiber, with_worker};
use std::cell::{Cell, RefCell};
use std::convert::identity;
use std::fmt;
use std::marker::PhantomData;
use std::panic::{self, AssertUnwindSafe, Location};
use std::process;
use std::rc::Rc;

/// Lets fibers borrow: they run on the caller's worker, and all of them have ended when this returns.
///
/// It is the [`std::thread::scope`] of fibers. If `f` panics or is cancelled, `scope` waits for the fibers and then
/// continues unwinding; if the caller is [cancelled](crate::JoinHandle::cancel) while it waits, so are its fibers, and
/// when they have ended, `scope` unwinds it. If a fiber panics and is not joined, `scope` panics. Nothing travels, so a
/// fiber may capture and return anything that lives as long as the scope, even an `Rc`, and needs no macro.
///
/// The fibers take turns on one worker: they wait at the same time, but do not compute at the same time. Starting one
/// costs the same as [`spawn_local`](crate::spawn_local).
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::{Trust, Trustee};
/// let counters: Vec<Trust<u64>> = Trustee::all().iter().map(|there| there.entrust(20)).collect();
/// let mut sums = vec![0; counters.len()];
/// gossamer::scope(|s| {
///     for (sum, counter) in sums.iter_mut().zip(&counters) {
///         s.spawn(move || *sum = counter.apply(|count| *count + 1)); // all of them wait at once
///     }
/// });
/// assert_eq!(sums, [21, 21]);
/// # });
/// ```
///
/// # Panics
/// If `f` panics, with its payload; otherwise if a fiber that was not joined panicked or could not get a stack; on a
/// thread that is not a worker; in a delegated closure or a callback, which cannot wait; and while the caller unwinds
/// from a panic.
#[track_caller]
pub fn scope<'env, F, R>(f: F) -> R
where
    F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
{
    let advice = "use `std::thread::scope`";
    on_worker("scope", advice, |_| ());
    // Not in the closure, whose line would be named.
    require_fiber("scope");
    let fiber = on_worker("scope", advice, Worker::running);
    refuse_while_unwinding("opens a scope", "open it before");
    let (children, failures) = (RefCell::default(), RefCell::default());
    let state = Rc::new(ScopeState { fiber, children, cancelled: Cell::new(false), failures });
    let scope = Scope { state, scope: PhantomData, env: PhantomData };
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| f(&scope)));
    if scope.state.wait() && outcome.is_ok() {
        // Its fibers may have ended in the middle of their work.
        with_worker(Worker::unwind_if_cancelled);
    }
    match (outcome, scope.state.failures.take().message()) {
        (Err(payload), _) => panic::resume_unwind(payload),
        (Ok(_), Some(message)) => panic!("{message}"),
        (Ok(result), None) => result,
    }
}

/// Starts fibers that may borrow: what [`scope`] passes to its closure.
pub struct Scope<'scope, 'env: 'scope> {
    /// `Rc`, so that it stays with its thread (A7).
    state: Rc<ScopeState>,
    /// Invariant, as in `std`: otherwise `'scope` could shrink to a lifetime that ends before the fibers do.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Shared by the fibers of a scope and the fiber that waits for them.
struct ScopeState {
    /// The fiber that waits.
    fiber: Rc<Fiber>,
    children: RefCell<Children>,
    /// The fibers were told that the waiting fiber is cancelled.
    cancelled: Cell<bool>,
    /// Fibers that panicked or could not start, and were not joined.
    failures: RefCell<Failures>,
}

/// The fibers of a scope whose job is neither over nor dropped (A5), each in a place of its own.
#[derive(Default)]
struct Children {
    /// 0 where there is none.
    jobs: Vec<JobId>,
    vacant: Vec<usize>,
}

impl Children {
    fn add(&mut self, job: JobId) -> usize {
        let place = self.vacant.pop().unwrap_or_else(|| {
            self.jobs.push(0);
            self.jobs.len() - 1
        });
        self.jobs[place] = job;
        place
    }

    fn remove(&mut self, place: usize) {
        self.jobs[place] = 0;
        self.vacant.push(place);
    }

    fn count(&self) -> usize {
        self.jobs.len() - self.vacant.len()
    }
}

impl<'scope> Scope<'scope, '_> {
    /// Starts a fiber on this worker, which may borrow anything that lives as long as the scope.
    ///
    /// Fibers of the scope may start others in it.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let words = ["to", "be"];
    /// let length: usize = gossamer::scope(|scope| {
    ///     let fibers = words.map(|word| scope.spawn(move || word.len())); // borrows
    ///     fibers.into_iter().map(|fiber| fiber.join()).sum()
    /// });
    /// assert_eq!(length, 4);
    /// # });
    /// ```
    #[track_caller]
    pub fn spawn<U: 'scope, F>(&'scope self, f: F) -> ScopedJoinHandle<'scope, U>
    where
        F: FnOnce() -> U + 'scope,
    {
        let spawned_at = Location::caller();
        let (sender, receiver) = oneshot::channel();
        on_worker("Scope::spawn", "use `std::thread::scope`", |here| {
            let origin = Origin::of::<F>(here.index as u32, spawned_at);
            let (id, state) = (here.new_job(), Rc::clone(&self.state));
            if !refuses_fibers() {
                #[cfg(feature = "tracing")]
                let f = crate::spans::inside(f);
                let parts = (f, sender, Running::new(&self.state, id));
                let start = move |start| {
                    // Captured as one: so a job that never begins also drops them in this order (A5).
                    let (f, sender, running) = identity(parts);
                    let tell = |outcome: Result<U, DelegationError>| {
                        running.state.note(id, outcome.as_ref().err(), sender.is_awaited());
                        sender.send(outcome);
                    };
                    run_job(f, start, origin, tell);
                    // A5: `run_job` has taken all that was borrowed.
                    drop(running);
                };
                // SAFETY: A5, A6 and A7: what it has borrowed outlives the scope, which does not end before `running` is dropped.
                let start = unsafe { InlineClosure::borrowing(start) };
                submit(here, Job { start, spawned_at, id });
            }
            if state.cancelled.get() {
                here.cancel_job(here.index, id);
            }
            let pending = Pending::new(receiver, origin);
            let claim = JoinClaim { id, state };
            ScopedJoinHandle { pending, canceller: Canceller::here(here, id), claim, scope: PhantomData }
        })
    }
}

impl ScopeState {
    fn is_empty(&self) -> bool {
        self.children.borrow().count() == 0
    }

    /// Whether the fibers have to be told that the waiting fiber is cancelled.
    fn has_to_cancel(&self) -> bool {
        self.fiber.is_cancelled() && !self.cancelled.get()
    }

    fn cancel_fibers(&self, here: &Worker) {
        self.cancelled.set(true);
        self.children
            .borrow()
            .jobs
            .iter()
            .filter(|job| **job > 0)
            .for_each(|job| here.cancel_job(here.index, *job));
    }

    /// Waits for all fibers of the scope, and returns whether there were any. If the waiting fiber is cancelled, so are
    /// they.
    #[track_caller]
    fn wait(&self) -> bool {
        /// A6: unwinding is impossible while fibers borrow what it would destroy.
        struct Abort;
        impl Drop for Abort {
            fn drop(&mut self) {
                eprintln!(
                    "gossamer: waiting for the fibers of a scope panicked: this is a bug in gossamer; the process ends"
                );
                process::abort();
            }
        }
        if self.is_empty() {
            return false;
        }
        let abort = Abort;
        let noted = Fiber::note_wait(Wait::in_call("scope").on(WaitsOn::Others));
        while !self.is_empty() {
            with_worker(|here| {
                if self.has_to_cancel() {
                    self.cancel_fibers(here);
                }
                here.wait_until(|| self.is_empty() || self.has_to_cancel());
            });
        }
        drop(noted);
        std::mem::forget(abort);
        true
    }

    /// Notes the outcome of a fiber, in case nobody joins it.
    fn note(&self, job: JobId, error: Option<&DelegationError>, is_joinable: bool) {
        if let Some(error) = error.filter(|error| *error.reason() != Reason::Cancelled) {
            self.failures.borrow_mut().note(job, error.clone(), is_joinable);
        }
    }
}

/// A fiber of a scope whose job is not over (A5).
struct Running {
    state: Rc<ScopeState>,
    place: usize,
}

impl Running {
    fn new(state: &Rc<ScopeState>, job: JobId) -> Self {
        let place = state.children.borrow_mut().add(job);
        Self { state: Rc::clone(state), place }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.state.children.borrow_mut().remove(self.place);
        if self.state.is_empty() {
            with_worker(|here| here.fibers.scheduler.unpark(Rc::clone(&self.state.fiber)));
        }
    }
}

/// A fiber of a [`scope`]: what [`Scope::spawn`] returns. Dropping it leaves the fiber to the scope, which waits for
/// it.
pub struct ScopedJoinHandle<'scope, U> {
    pending: Pending<U>,
    canceller: Canceller,
    claim: JoinClaim,
    scope: PhantomData<&'scope ()>,
}

/// Of a handle: that its fiber may still be joined.
struct JoinClaim {
    id: JobId,
    state: Rc<ScopeState>,
}

impl Drop for JoinClaim {
    fn drop(&mut self) {
        self.state.failures.borrow_mut().drop_handle(self.id);
    }
}

impl<U> ScopedJoinHandle<'_, U> {
    /// Waits until the fiber ends and returns its result.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let words = ["to", "be", "or", "not"];
    /// let longest = gossamer::scope(|scope| {
    ///     let (first, second) = words.split_at(2); // borrowed, not moved
    ///     let halves = [first, second].map(|half| scope.spawn(move || half.iter().map(|word| word.len()).max()));
    ///     halves.map(|half| half.join()).into_iter().max()
    /// });
    /// assert_eq!(longest, Some(Some(3)));
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`JoinHandle::join`](crate::JoinHandle::join).
    #[track_caller]
    pub fn join(self) -> U {
        match self.try_join() {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }

    /// Like [`join`](Self::join), but returns an error instead of panicking. Then the scope does not panic because of
    /// this fiber either.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let words = vec!["to", "be"];
    /// gossamer::scope(|scope| {
    ///     let fiber = scope.spawn(|| words[7]);
    ///     assert!(fiber.try_join().unwrap_err().to_string().contains("index out of bounds"));
    /// });
    /// # });
    /// ```
    ///
    /// # Errors
    /// Like [`JoinHandle::try_join`](crate::JoinHandle::try_join).
    ///
    /// # Panics
    /// Where it cannot wait.
    #[track_caller]
    pub fn try_join(self) -> Result<U, DelegationError> {
        refuse_while_unwinding("joins a fiber", "join it before");
        let on = self.canceller.awaited().unwrap_or(WaitsOn::Others);
        let outcome = self.pending.try_wait_as(Wait::in_call("join").on(on));
        self.claim.state.failures.borrow_mut().forget(self.claim.id);
        outcome
    }

    /// Cancels the fiber, as [`JoinHandle::cancel`](crate::JoinHandle::cancel) does. The scope does not panic because
    /// of that.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use std::cell::Cell;
    /// let ended = Cell::new(false);
    /// gossamer::scope(|scope| {
    ///     let waits = scope.spawn(|| gossamer::sleep(std::time::Duration::from_secs(3600)));
    ///     waits.cancel(); // or the scope would wait for an hour
    ///     ended.set(true);
    /// });
    /// assert!(ended.get());
    /// # });
    /// ```
    pub fn cancel(&self) {
        if !self.is_finished() {
            self.canceller.cancel();
        }
    }

    /// Whether the fiber has ended.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// gossamer::scope(|scope| {
    ///     let fiber = scope.spawn(|| 6 * 7);
    ///     while !fiber.is_finished() {
    ///         gossamer::yield_now(); // or some of the work at hand
    ///     }
    ///     assert_eq!(fiber.join(), 42); // does not wait any more
    /// });
    /// # });
    /// ```
    pub fn is_finished(&self) -> bool {
        self.pending.is_finished()
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("fibers", &self.state.children.borrow().count()).finish_non_exhaustive()
    }
}

impl<U> fmt::Debug for ScopedJoinHandle<'_, U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ScopedJoinHandle").field(&self.pending).finish()
    }
}
