//! [`Latch`]: a property whose closures may block, each in a fiber of its own.

use crate::lane::error::{DelegationError, Origin};
use crate::lane::operation::{Delegated, refuse_captures};
use crate::structures::oneshot::{self, OneshotReceiver, OneshotSender};
use crate::sys::fibers::wait::{Wait, WaitsOn};
use crate::trust::apply::rethrow;
use crate::trust::cancel::{self, SentJob};
use crate::trust::hold::HeldCell;
use crate::trust::join::refuse_while_unwinding;
use crate::trust::launched::{Alone, Launch, Launched, finish_in_fiber, start_here};
use crate::trust::remote::{self, Asked};
use crate::trust::{NoRef, Pending, Trust};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Encoder;
use crate::wire::refusal::Malformed;
use crate::worker::{self, with_worker};
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// A property whose closures run in fibers of their own and may block, also on other trusts.
///
/// An ordinary delegated closure must not block, since it would stop its trustee. A closure
/// [`launch`](Trust::launch)ed on a `Trust<Latch<T>>` runs in a fiber at the trustee that holds the latch: the fiber
/// has the value to itself until the closure ends, and others wait, first come, first served.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(2), || {
/// use gossamer::{Latch, Trustee};
/// let audit = Trustee::all()[1].entrust(0_u64);
/// let account = gossamer::entrust(Latch::new(100_u64));
/// let left = account.launch_with(
///     |balance, audit| {
///         *balance -= 30;
///         audit.apply_with(|sum, by| *sum += by, 30_u64); // blocks this fiber only
///         *balance
///     },
///     audit.clone(),
/// );
/// assert_eq!((left, audit.apply(|sum| *sum)), (70, 30));
/// # });
/// ```
pub struct Latch<T>(pub(super) Arc<HeldCell<T>>);

// SAFETY: nobody else holds a latch that is being entrusted: it cannot be cloned, and holders are fibers launched on
// a property.
unsafe impl<T: NoRef> NoRef for Latch<T> {
    fn encode(self, to: &mut Encoder) {
        match Arc::try_unwrap(self.0) {
            Ok(cell) => cell.into_inner().encode(to),
            Err(held) => to.refuse(Self(held)),
        }
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        from.given_back().map_or_else(|| T::decode(from).map(Self::new), Ok)
    }
}

impl<T> Latch<T> {
    /// A latch over a value, to be entrusted.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, entrust};
    /// let account = entrust(Latch::new(100_u64));
    /// assert_eq!(account.launch(|balance| *balance), 100);
    /// # });
    /// ```
    pub fn new(value: T) -> Self {
        Self(Arc::new(HeldCell::new(value)))
    }
}

impl<T> fmt::Debug for Latch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: Send + 'static> Trust<Latch<T>> {
    /// Runs a closure in a fiber of its own at the trustee, with the latch held, and returns its result. The closure
    /// may block, also on other trusts. Two closures that wait for each other's latch deadlock, as with two mutexes.
    ///
    /// If it panics, the latch is released and the value stays as the panic left it.
    ///
    /// To wait for a limited time, use [`timeout`](crate::timeout) with [`launch_async`](Self::launch_async). The
    /// closure gets the latch and runs all the same:
    ///
    /// ```
    /// use std::time::Duration;
    /// # gossamer::run(gossamer::Config::default().threads(1), || {
    /// let door = gossamer::entrust(gossamer::Latch::new(0_u64));
    /// let slow = door.launch_async(|uses| { gossamer::sleep(Duration::from_millis(50)); *uses += 1; *uses });
    /// let mut next = door.launch_async(|uses| { *uses += 1; *uses });
    /// assert!(gossamer::timeout(Duration::from_millis(5), &mut next).is_err());
    /// assert_eq!((slow.wait(), next.wait()), (1, 2)); // `&mut`, so it can be asked again
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the closure panics; in a delegated closure or a callback, which cannot wait; if the runtime has ended; and
    /// in a fiber that unwinds from a panic, since the closure may wait for others of its worker.
    #[track_caller]
    pub fn launch<U: NoRef, F>(&self, closure: F) -> U
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.launch_and_wait::<F, _, _, _>(Alone(|value: &mut T, ()| closure(value)), (), Location::caller())
    }

    /// Like [`launch`](Self::launch), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, entrust};
    /// let (account, log) = (entrust(Latch::new(100_u64)), entrust(Vec::new()));
    /// let write = |balance: &mut u64, log: gossamer::Trust<Vec<u64>>| log.apply_with(|log, now| log.push(now), *balance);
    /// account.launch_with(write, log.clone()); // waits for the log, which an ordinary delegated closure must not
    /// assert_eq!(log.apply(|log| log.len()), 1);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`launch`](Self::launch).
    #[track_caller]
    pub fn launch_with<C: NoRef, U: NoRef, F>(&self, closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.launch_and_wait::<F, _, _, _>(Alone(closure), arguments, Location::caller())
    }

    /// Like [`launch`](Self::launch), without waiting: `then` is called with the result in a fiber of this worker, so
    /// it may block. If the closure panics, the error is printed and `then` is dropped. On a thread that is not a
    /// worker this waits.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, entrust};
    /// let account = entrust(Latch::new(100_u64));
    /// let (sender, mut receiver) = gossamer::sync::mpsc::channel(1);
    /// account.launch_then(|balance| *balance, move |now| sender.send(now).unwrap());
    /// assert_eq!(receiver.recv(), Some(100));
    /// # });
    /// ```
    #[track_caller]
    pub fn launch_then<U: NoRef, F, R>(&self, closure: F, then: R)
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        const { refuse_captures::<F>() };
        let closure = Alone(|value: &mut T, ()| closure(value));
        let (pending, _) = self.start::<F, _, _, _>(closure, (), Location::caller());
        finish_in_fiber(pending, then, Location::caller());
    }

    /// Like [`launch_then`](Self::launch_then), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, Trustee, sync::mpsc};
    /// let account = Trustee::all()[1].entrust(Latch::new(100_u64));
    /// let (sender, mut receiver) = mpsc::channel(1);
    /// let pay = |balance: &mut u64, coins| { *balance -= coins; *balance };
    /// account.launch_with_then(pay, 30, move |left| sender.send(left).unwrap());
    /// assert_eq!(receiver.recv(), Some(70));
    /// # });
    /// ```
    #[track_caller]
    pub fn launch_with_then<C: NoRef, U: NoRef, F, R>(&self, closure: F, arguments: C, then: R)
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
        R: FnOnce(U) + 'static,
    {
        const { refuse_captures::<F>() };
        let (pending, _) = self.start::<F, _, _, _>(Alone(closure), arguments, Location::caller());
        finish_in_fiber(pending, then, Location::caller());
    }

    /// Like [`launch`](Self::launch), but returns an error instead of panicking.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, entrust};
    /// let account = entrust(Latch::new(0_u64));
    /// let error = account.try_launch(|balance| 100 / *balance).unwrap_err();
    /// assert!(error.to_string().contains("divide by zero"));
    /// # });
    /// ```
    ///
    /// # Errors
    /// If the closure panicked, its fiber could not get a stack, or the runtime has ended.
    ///
    /// # Panics
    /// Where it cannot wait.
    #[track_caller]
    pub fn try_launch<U: NoRef, F>(&self, closure: F) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        let closure = Alone(|value: &mut T, ()| closure(value));
        self.try_launch_and_wait::<F, _, _, _>(closure, (), Location::caller())
    }

    /// Like [`try_launch`](Self::try_launch), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, entrust};
    /// let account = entrust(Latch::new(20_u64));
    /// let pay = |balance: &mut u64, coins| *balance = balance.checked_sub(coins).expect("not enough coins");
    /// assert!(account.try_launch_with(pay, 15).is_ok());
    /// assert!(account.try_launch_with(pay, 15).unwrap_err().to_string().contains("not enough coins"));
    /// # });
    /// ```
    ///
    /// # Errors
    /// Like [`try_launch`](Self::try_launch).
    ///
    /// # Panics
    /// Where it cannot wait.
    #[track_caller]
    pub fn try_launch_with<C: NoRef, U: NoRef, F>(
        &self,
        closure: F,
        arguments: C,
    ) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.try_launch_and_wait::<F, _, _, _>(Alone(closure), arguments, Location::caller())
    }

    /// Like [`launch`](Self::launch), without waiting: the [`Pending`] receives the result. Dropping it does not stop
    /// the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, entrust};
    /// let account = entrust(Latch::new(100_u64));
    /// let balance = account.launch_async(|balance| {
    ///     gossamer::sleep(std::time::Duration::from_millis(1)); // it may block
    ///     *balance
    /// });
    /// assert_eq!(balance.wait(), 100);
    /// # });
    /// ```
    #[track_caller]
    pub fn launch_async<U: NoRef, F>(&self, closure: F) -> Pending<U>
    where
        F: FnOnce(&mut T) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.start::<F, _, _, _>(Alone(|value: &mut T, ()| closure(value)), (), Location::caller()).0
    }

    /// Like [`launch_async`](Self::launch_async), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// use gossamer::{Latch, Trustee, Trust};
    /// let all = Trustee::all();
    /// let (audit, account) = (all[0].entrust(0_u64), all[1].entrust(Latch::new(100_u64)));
    /// let pay = |balance: &mut u64, audit: Trust<u64>| {
    ///     *balance -= 30;
    ///     audit.apply_with(|sum, by| *sum += by, 30); // waits for the other worker
    /// };
    /// let payments = [(); 3].map(|()| account.launch_with_async(pay, audit.clone()));
    /// payments.map(|payment| payment.wait());
    /// assert_eq!(audit.apply(|sum| *sum), 90);
    /// # });
    /// ```
    #[track_caller]
    pub fn launch_with_async<C: NoRef, U: NoRef, F>(&self, closure: F, arguments: C) -> Pending<U>
    where
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.start::<F, _, _, _>(Alone(closure), arguments, Location::caller()).0
    }

    #[track_caller]
    pub(super) fn launch_and_wait<N: 'static, C: NoRef, U: NoRef, L: Launch<T, C, U>>(
        &self,
        closure: L,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) -> U {
        match self.try_launch_and_wait::<N, _, _, _>(closure, arguments, sent_from) {
            Ok(result) => result,
            Err(error) => rethrow(error, sent_from),
        }
    }

    #[track_caller]
    fn try_launch_and_wait<N: 'static, C: NoRef, U: NoRef, L: Launch<T, C, U>>(
        &self,
        closure: L,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) -> Result<U, DelegationError> {
        worker::require_fiber("launch");
        // At any trustee: the closure may wait for a fiber of this worker, directly or through others.
        refuse_while_unwinding("launches a closure", "launch it before, or use `launch_then`");
        let (pending, job) = self.start::<N, _, _, _>(closure, arguments, sent_from);
        let on = job.id().map_or(WaitsOn::Others, |job| WaitsOn::Job { worker: self.target().index(), job });
        pending.try_wait_as(Wait::in_call("launch").on(on))
    }

    /// Sends the closure to the trustee, which starts its fiber. Returns the job of that fiber.
    pub(super) fn start_as_it_is<N, C: NoRef, U: NoRef, L: Launch<T, C, U>>(
        &self,
        closure: L,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) -> (Pending<U>, SentJob) {
        let (sender, receiver) = oneshot::channel();
        let origin = Origin::of::<N>(self.trustee().index() as u32, sent_from);
        if !self.target().is_here() {
            return self.start_elsewhere::<N, _, _, _>(closure, arguments, (origin, sender), receiver);
        }
        let launch = |latch: &mut Latch<T>, launched| start_here(latch, closure, launched);
        // The request itself is answered at once; the fiber sends the outcome. If the request cannot be served, its
        // arguments are dropped, and with them the sender, which tells the waiter.
        let (_, job) = cancel::new_job_at(self.target().number);
        self.target().send_here(Delegated::of::<N, _>(launch), Launched { arguments, sender, origin, job });
        (Pending::new(receiver, origin), SentJob::Known(job))
    }

    /// Sends the closure to the trustee of another node, which starts its fiber.
    fn start_elsewhere<N, C: NoRef, U: NoRef, L: Launch<T, C, U>>(
        &self,
        closure: L,
        arguments: C,
        to: (Origin, OneshotSender<Result<U, DelegationError>>),
        receiver: OneshotReceiver<Result<U, DelegationError>>,
    ) -> (Pending<U>, SentJob) {
        let launch = move |latch: &mut Latch<T>, (asked, arguments): (Asked, C)| {
            let cell = Arc::clone(&latch.0);
            let body = move || closure.run(cell, arguments);
            with_worker(|here| here.fibers.scheduler.submit(asked.job::<N, U>(here, body)));
        };
        let ((origin, sender), delegated) = (to, Delegated::travelling::<N, _>(launch));
        let job = Arc::new(AtomicU64::new(0));
        let sent = SentJob::Noted(Arc::clone(&job));
        self.target().on_a_worker(move |here, target| {
            let (to, answer) = ((target.index() as usize, target), |outcome| sender.send(outcome));
            let note = |id| cancel::note(&job, id);
            remote::ask::<N, _, _, _>(here, to, delegated, arguments, (origin, answer), note);
        });
        (Pending::new(receiver, origin), sent)
    }
}
