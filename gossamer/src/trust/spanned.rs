//! Delegating in the span of the caller (feature `tracing`): the span goes along with the arguments, and the closure is wrapped in one that
//! enters it. So no layer below knows of spans, and a request without one is as it would be without the feature.

use crate::lane::error::{DelegationError, Origin};
use crate::lane::operation::Delegated;
#[cfg(feature = "tracing")]
use crate::spans::{Sender, is_on};
use crate::structures::oneshot::{self, OneshotSender};
use crate::trust::call::{From, Target};
use crate::trust::cancel::SentJob;
#[cfg(feature = "tracing")]
use crate::trust::hold::HeldCell;
use crate::trust::launched::Launch;
use crate::trust::spawn::{self, Else};
use crate::trust::spawn_many;
use crate::trust::{JoinHandle, Latch, NoRef, Pending, Returned, Trust, Trustee};
use crate::worker::{self, Worker};
#[cfg(feature = "tracing")]
use std::marker::PhantomData;
use std::panic::Location;
#[cfg(feature = "tracing")]
use std::sync::Arc;

impl<T: 'static> Target<'_, T> {
    /// Applies a closure and waits for its result. Reports name the type `N`, here and below: the user's closure, where
    /// `closure` only wraps it.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn call<N, C, U, F>(
        &self,
        call: &'static str,
        closure: F,
        arguments: C,
    ) -> Result<U, DelegationError>
    where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send,
    {
        #[cfg(feature = "tracing")]
        if is_on() {
            return self.call_spanned::<N, _, _, _>(call, closure, arguments);
        }
        self.call_as_it_is::<N, _, _, _>(call, closure, arguments)
    }

    /// As `call`, where there may be a span. A function of its own, so that nothing of it is where there is none.
    #[cfg(feature = "tracing")]
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn call_spanned<N, C, U, F>(
        &self,
        call: &'static str,
        closure: F,
        arguments: C,
    ) -> Result<U, DelegationError>
    where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send,
    {
        if !self.is_at_hand()
            && let Some(sender) = Sender::current()
        {
            let closure = inside::<N, _, _, _, _>(closure);
            return self.call_as_it_is::<N, _, _, _>(call, closure, (sender, arguments));
        }
        self.call_as_it_is::<N, _, _, _>(call, closure, arguments)
    }

    /// Applies a closure and has `then` called with the outcome, on this worker. A fiber waits for room on the lane,
    /// nothing else does. From a thread that is no worker of the runtime this waits for the outcome itself.
    #[inline(always)]
    pub(crate) fn call_then<N, C, U, F, R>(&self, closure: F, arguments: C, then: R)
    where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send + 'static,
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        #[cfg(feature = "tracing")]
        if is_on() {
            return self.call_spanned_then::<N, _, _, _, _>(closure, arguments, then);
        }
        self.call_as_it_is_then::<N, _, _, _, _>(closure, arguments, then);
    }

    /// As `call_spanned`.
    #[cfg(feature = "tracing")]
    #[cold]
    #[inline(never)]
    fn call_spanned_then<N, C, U, F, R>(&self, closure: F, arguments: C, then: R)
    where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send + 'static,
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        if let Some(sender) = Sender::current() {
            let closure = inside::<N, _, _, _, _>(closure);
            return self.call_as_it_is_then::<N, _, _, _, _>(closure, (sender, arguments), then);
        }
        self.call_as_it_is_then::<N, _, _, _, _>(closure, arguments, then);
    }

    /// Applies a closure, from wherever the caller stands, and does not wait.
    pub(crate) fn call_async<N, C, U, F>(&self, closure: F, arguments: C, origin: Origin) -> Pending<U>
    where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let (then, pending) = (or_printed(sender, origin), Pending::new(receiver, origin));
        #[cfg(feature = "tracing")]
        if let Some(sender) = Sender::current() {
            let closure = inside::<N, _, _, _, _>(closure);
            self.call_as_it_is_async::<N, _, _, _>(closure, (sender, arguments), then);
            return pending;
        }
        self.call_as_it_is_async::<N, _, _, _>(closure, arguments, then);
        pending
    }

    fn call_as_it_is_async<N, C, U, F>(
        &self,
        closure: F,
        arguments: C,
        then: impl FnOnce(Result<U, DelegationError>) + Send + 'static,
    ) where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send,
    {
        worker::with(|current| {
            let (here, trustee) = match self.from(current) {
                From::Worker(here, trustee) => (here, trustee),
                From::Trustee(here) => (here, here.index),
                From::Node(here, trustee) => {
                    let delegated = Delegated::travelling::<N, F>(closure);
                    return self.push_to_node_apart::<N, _, _, _>(here, trustee, delegated, arguments, then);
                }
                From::Elsewhere => {
                    return self.send_from_outside::<N, _, _, _, _>(closure, arguments, then);
                }
            };
            self.push(here, trustee, Delegated::of::<N, F>(closure), arguments, then);
        });
    }

    /// Whether a blocking call runs the closure in this very call, so in the span of the caller anyway.
    #[cfg(feature = "tracing")]
    fn is_at_hand(&self) -> bool {
        worker::with(
            |current| matches!(self.from(current), From::Trustee(here) if !here.has_outstanding_here()),
        )
    }
}

/// A delegated closure whose arguments come with the span to run it in.
#[cfg(feature = "tracing")]
fn inside<N, T, C, U, F>(closure: F) -> impl FnOnce(&mut T, (Sender, C)) -> U + Send + use<N, T, C, U, F>
where
    F: FnOnce(&mut T, C) -> U + Send,
{
    move |property, (sender, arguments)| sender.run::<N, _>(|| closure(property, arguments))
}

/// Starts a fiber. Reports name the type `N`: the user's closure, where `f` only wraps it.
pub(super) fn start<N, C: NoRef, U: Returned, F>(
    trustee: Trustee,
    or_else: Else,
    f: F,
    arguments: C,
    spawned_at: &'static Location<'static>,
) -> JoinHandle<U>
where
    F: FnOnce(C) -> U + Send + 'static,
{
    #[cfg(feature = "tracing")]
    if let Some(sender) = Sender::current() {
        let f = |(sender, arguments): (Sender, C)| sender.run::<N, _>(|| f(arguments));
        return spawn::start_as_it_is::<N, _, _, _>(trustee, or_else, f, (sender, arguments), spawned_at);
    }
    spawn::start_as_it_is::<N, _, _, _>(trustee, or_else, f, arguments, spawned_at)
}

/// Starts `count` fibers, which share the span.
pub(super) fn start_many<N: 'static, C: NoRef + Clone, U: NoRef, F>(
    here: &Worker,
    count: usize,
    f: F,
    arguments: C,
    spawned_at: &'static Location<'static>,
) -> Vec<spawn_many::Part<U>>
where
    F: FnOnce(usize, C) -> U + Send + Copy + 'static,
{
    #[cfg(feature = "tracing")]
    if let Some(sender) = Sender::current() {
        let f = move |number, (sender, arguments): (Sender, C)| sender.run::<N, _>(|| f(number, arguments));
        return spawn_many::start_as_it_is::<N, _, _, _>(here, count, f, &(sender, arguments), spawned_at);
    }
    spawn_many::start_as_it_is::<N, _, _, _>(here, count, f, &arguments, spawned_at)
}

impl<T: Send + 'static> Trust<Latch<T>> {
    /// Sends the closure to the trustee, which starts its fiber; and the job of that.
    pub(super) fn start<N: 'static, C: NoRef, U: NoRef, L: Launch<T, C, U>>(
        &self,
        closure: L,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) -> (Pending<U>, SentJob) {
        #[cfg(feature = "tracing")]
        if let Some(sender) = Sender::current() {
            let closure = Spanned::<N, L>(closure, PhantomData);
            return self.start_as_it_is::<N, _, _, _>(closure, (sender, arguments), sent_from);
        }
        self.start_as_it_is::<N, _, _, _>(closure, arguments, sent_from)
    }
}

/// A launched closure of type `N` whose arguments come with the span to run it in.
#[cfg(feature = "tracing")]
struct Spanned<N, L>(L, PhantomData<fn() -> N>);

#[cfg(feature = "tracing")]
impl<N: 'static, T, C, U, L: Launch<T, C, U>> Launch<T, (Sender, C), U> for Spanned<N, L> {
    fn run(self, cell: Arc<HeldCell<T>>, (sender, arguments): (Sender, C)) -> U {
        sender.run::<N, _>(|| self.0.run(cell, arguments))
    }
}

/// The callback that sends an outcome on its way to a [`Pending`]: its error is printed if nobody takes it. Its type
/// depends on that of the result only, wherever it is made.
fn or_printed<U>(
    to: OneshotSender<Result<U, DelegationError>>,
    origin: Origin,
) -> impl FnOnce(Result<U, DelegationError>) + use<U> {
    move |outcome| {
        let printed = |error| origin.complete(error).printed_unless_taken("a request whose `Pending`");
        to.send(outcome.map_err(printed));
    }
}
