//! Requests that nobody waits for, and their errors.

use crate::lane::constant::travels;
use crate::lane::encoded::Fixed;
use crate::lane::error::{DelegationError, print, report};
use crate::lane::operation::{Delegated, refuse_captures};
use crate::trust::call::{From, Target};
use crate::trust::{NoRef, Trust};
use crate::wire::captured::Captured;
use crate::worker::{self, Worker};
use std::panic::Location;

impl<T: 'static> Trust<T> {
    /// Applies a closure that returns nothing, and goes on. In a fiber on the trustee's own worker this is a direct
    /// call, which takes a fraction of the time of [`apply_then`](Self::apply_then).
    ///
    /// Like all requests of a fiber to one trustee, it is served in the order in which they were sent: so a later
    /// `apply` finds its effect. It is gathered with others for one batch, as with [`apply_then`](Self::apply_then). A
    /// fiber that sends faster than the trustee serves waits for room on the lane. Where nothing can wait (in a
    /// delegated closure or in a callback) requests queue in memory ([`Config::backlog`](crate::Config::backlog)). A
    /// thread that is not a worker waits until the closure has been applied. If the closure panics, the error is
    /// printed.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counts = gossamer::Trustee::all().into_iter().map(|trustee| trustee.entrust(0_u64));
    /// let counts: Vec<_> = counts.collect();
    /// for number in 0..1000 {
    ///     counts[number % 2].apply_unawaited(|count| *count += 1);
    /// }
    /// assert_eq!(counts[0].apply(|count| *count) + counts[1].apply(|count| *count), 1000); // behind them
    /// # });
    /// ```
    ///
    /// # Panics
    /// If the backlog is far too long ([`Config::backlog`](crate::Config::backlog)).
    #[inline]
    #[track_caller]
    pub fn apply_unawaited<F>(&self, closure: F)
    where
        F: FnOnce(&mut T) + Send + 'static,
    {
        const { refuse_captures::<F>() };
        let closure = |property: &mut T, ()| closure(property);
        self.target().call_unawaited::<F, _, _>(closure, (), Location::caller());
    }

    /// Like [`apply_unawaited`](Self::apply_unawaited), with arguments that are passed to the closure.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(2), || {
    /// let counter = gossamer::Trustee::all()[1].entrust(40_u64);
    /// counter.apply_with_unawaited(|count, by| *count += by, 2); // goes on at once
    /// assert_eq!(counter.apply(|count| *count), 42);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Like [`apply_unawaited`](Self::apply_unawaited).
    #[inline]
    #[track_caller]
    pub fn apply_with_unawaited<C: NoRef, F>(&self, closure: F, arguments: C)
    where
        F: FnOnce(&mut T, C) + Send + 'static,
    {
        const { refuse_captures::<F>() };
        self.target().call_unawaited::<F, _, _>(closure, arguments, Location::caller());
    }

    /// As written by the macros (see `arguments_first`).
    #[doc(hidden)]
    #[inline(always)]
    #[track_caller]
    pub fn __apply_with_unawaited<C: Captured, F>(&self, arguments: C, closure: F)
    where
        F: FnOnce(&mut T, C) + Send + 'static,
    {
        self.apply_with_unawaited(closure, arguments);
    }
}

impl<T: 'static> Target<'_, T> {
    /// Applies a closure: within this call where that keeps the order of requests and the property is free, otherwise
    /// later. Reports name the type `N`: the user's closure, where `closure` only wraps it.
    #[inline(always)]
    #[track_caller]
    pub(super) fn call_unawaited<N, C, F>(
        &self,
        closure: F,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) where
        C: NoRef,
        F: FnOnce(&mut T, C) + Send + 'static,
    {
        // SAFETY: the reference is given up in this frame, which may be suspended meanwhile: A4.
        let current = unsafe { worker::get() };
        match self.from(current) {
            From::Trustee(here) if here.may_block() && !here.has_outstanding_here() => {
                let outcome = self.call::<N, _, _, _>("apply_unawaited", closure, arguments);
                report_failure(outcome, sent_from);
            }
            From::Trustee(here) if !carries_span() => {
                self.push_in_run(here, here.index, Delegated::in_runs::<N, F>(closure), arguments, sent_from);
            }
            From::Worker(here, trustee) if !carries_span() => {
                self.push_in_run(here, trustee, Delegated::in_runs::<N, F>(closure), arguments, sent_from);
            }
            From::Node(here, trustee) if !carries_span() && Fixed::<C>::FITS && travels::<N>() => {
                let delegated = Delegated::travelling_in_runs::<N, F>(closure);
                self.push_in_run_to_node(here, trustee, delegated, arguments, sent_from);
            }
            _ => {
                let then = move |outcome| report_failure(outcome, sent_from);
                self.call_then::<N, _, _, _, _>(closure, arguments, then);
            }
        }
    }

    #[inline(always)]
    fn push_in_run<C>(
        &self,
        here: &Worker,
        trustee: usize,
        delegated: Delegated<T, C, ()>,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) {
        let lane = here.lane_to(trustee);
        // SAFETY: A1 and A2.
        let continued = unsafe { lane.client.continue_run(delegated, self.property, arguments, sent_from) };
        if let Err(arguments) = continued {
            let operation = delegated.operation();
            if !lane.client.fits_run(operation) {
                here.make_room_for(trustee, &|lane| lane.client.fits_run(operation));
            }
            // SAFETY: A1 and A2; it fits, see above.
            unsafe { lane.client.begin_run(delegated, self.property, arguments, sent_from) };
        }
    }
}

/// Whether requests have to carry a span, so that they cannot be sent in runs.
#[inline(always)]
fn carries_span() -> bool {
    #[cfg(feature = "tracing")]
    return crate::spans::is_on();
    #[cfg(not(feature = "tracing"))]
    false
}

/// The completion of a request whose error nobody takes: prints the error.
#[inline(always)]
pub(super) fn or_report<U: 'static>(
    then: impl FnOnce(U) + 'static,
    sent_from: &'static Location<'static>,
) -> impl FnOnce(Result<U, DelegationError>) + 'static {
    #[cfg(feature = "tracing")]
    let then = crate::spans::after(then);
    move |outcome| match outcome {
        Ok(result) => then(result),
        Err(error) => report_unawaited(error, sent_from),
    }
}

/// Reports an error that nobody waits for.
#[cold]
pub(crate) fn report_unawaited(error: DelegationError, sent_from: &'static Location<'static>) {
    print(&format!("gossamer: {}; its callback is not called\n", error.with_sender(sent_from)));
}

/// Reports the error of a request without a callback.
#[inline(always)]
fn report_failure(outcome: Result<(), DelegationError>, sent_from: &'static Location<'static>) {
    if let Err(error) = outcome {
        report(error, sent_from);
    }
}
