//! The ways a delegated closure gets to its property: at once where the caller is at the trustee, by a lane from
//! another worker of any node, through the inbox from any other thread.
//!
//! Invariants
//! - A1: `Address::property` is the index, at `Address::trustee`, of a property of type `T`, for every `Target<T>`:
//!   both are set by `entrust::<T>` only.
//! - A2: a `Target` lives only while a trust of its property does (it borrows one), so the property is not dropped
//!   before the request is on its way; the grace round protects it from there.
//! - A3: the stack frame of a blocking call is not left before its completion has run: `wait_until` neither
//!   returns early nor unwinds; neither does `block_on_to_the_end`. So a closure need not be `'static`.
//! - A4: a reference to this thread's worker that a fiber's frame holds stays good while the fiber is suspended: `current::set`,
//!   which lends it, does not return while there are fibers (X5).

use crate::lane::catch::{self, Caught};
use crate::lane::context;
use crate::lane::error::{DelegationError, Reason};
use crate::lane::operation::Delegated;
use crate::structures::oneshot;
use crate::sys::fibers::wait::{AnswerNames, AnswerWait};
use crate::trust::answer::{answering, wait_for};
use crate::trust::{NoRef, Trust, rethrow};
use crate::worker::fibers::wake::block_on_to_the_end;
use crate::worker::shared::Shared;
use crate::worker::{self, Worker};
use std::cell::Cell;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// A property at its trustee, borrowed from a trust.
pub(crate) struct Target<'a, T> {
    pub(crate) shared: &'a Arc<Shared>,
    /// Process-wide number of the trustee.
    pub(crate) number: u32,
    pub(crate) property: u32,
    pub(crate) of: PhantomData<fn(&mut T)>,
}

impl<T> Clone for Target<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Target<'_, T> {}

/// Where the caller stands.
pub(super) enum From<'a> {
    Trustee(&'a Worker),
    Worker(&'a Worker, usize),
    /// On a worker; the trustee is on another node.
    Node(&'a Worker, usize),
    Elsewhere,
}

impl<T: 'static> Trust<T> {
    /// Like [`apply_with`](Trust::apply_with), for a method of something that consists of trusts, which errors name.
    #[inline]
    #[track_caller]
    pub(crate) fn apply_in<C: NoRef, U: NoRef, F>(&self, method: &'static str, closure: F, arguments: C) -> U
    where
        F: FnOnce(&mut T, C) -> U + Send,
    {
        match self.target().call::<F, _, _, _>(method, closure, arguments) {
            Ok(result) => result,
            Err(error) => rethrow(error, Location::caller()),
        }
    }
}

impl<T: 'static> Target<'_, T> {
    #[inline(always)]
    pub(super) fn from<'w>(&self, current: Option<&'w Worker>) -> From<'w> {
        let Some(here) = current else { return From::Elsewhere };
        if here.number == self.number {
            return From::Trustee(here);
        }
        match here.index_of(self.number) {
            Some(index) if here.is_neighbour(index) => From::Worker(here, index),
            Some(index) => From::Node(here, index),
            None => From::Elsewhere,
        }
    }

    /// Has the trustee begin with what was pushed to it, if it has nothing else to do: the caller may compute for long
    /// before it asks for the result.
    pub(super) fn send_first(&self) {
        worker::with(|here| {
            if let Some((here, trustee)) =
                here.and_then(|here| here.index_of(self.number).map(|to| (here, to)))
            {
                here.send_first(trustee);
            }
        });
    }

    /// Applies a closure and waits for its result. Reports name the type `N`, here and below: the user's closure, where
    /// `closure` only wraps it.
    #[inline(always)]
    #[track_caller]
    pub(super) fn call_as_it_is<N, C, U, F>(
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
        // SAFETY: the reference is given up in this frame, which may be suspended meanwhile: A4.
        let current = unsafe { worker::get() };
        match self.from(current) {
            From::Worker(here, trustee) if here.may_block() => {
                self.call_by_lane(here, Delegated::of::<N, F>(closure), arguments, self.awaited::<N>(trustee))
            }
            From::Trustee(here) if here.may_block() && !here.has_outstanding_here() && here.has_turn() => {
                self.call_here::<N, C, U, F>(here, closure, arguments)
            }
            From::Node(here, trustee) if here.may_block() => {
                self.call_node::<N, C, U, F>(here, trustee, closure, arguments)
            }
            from => self.call_slowly::<N, C, U, F>(from, current, call, closure, arguments),
        }
    }

    /// Like `call_as_it_is`, where the closure cannot be applied at once.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn call_slowly<N, C, U, F>(
        self,
        from: From<'_>,
        current: Option<&Worker>,
        call: &'static str,
        closure: F,
        arguments: C,
    ) -> Result<U, DelegationError>
    where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send,
    {
        if let Some(here) = current {
            here.require_fiber(call);
        }
        let (here, trustee) = match from {
            From::Trustee(here) if here.has_outstanding_here() => {
                here.take_turn();
                // Behind what this fiber may have sent without waiting: its requests are served in order.
                (here, here.index)
            }
            From::Trustee(here) => {
                here.take_turn_to_apply();
                return self.call_here::<N, C, U, F>(here, closure, arguments);
            }
            From::Worker(here, trustee) => (here, trustee),
            From::Node(here, trustee) => {
                return self.call_node::<N, C, U, F>(here, trustee, closure, arguments);
            }
            From::Elsewhere => {
                let (sender, receiver) = oneshot::channel();
                self.send_from_outside::<N, _, _, _, _>(closure, arguments, sender.into_callback());
                // Not left before the answer is there: the closure may live no longer than this call.
                return block_on_to_the_end(receiver, call).unwrap_or_else(|_closed| Err(self.ended::<N>()));
            }
        };
        self.call_apart(here, Delegated::of::<N, F>(closure), arguments, self.awaited::<N>(trustee))
    }

    /// The caller is a fiber of the trustee: no delegated closure runs, so the property is free.
    #[inline(always)]
    fn call_here<N, C, U, F>(&self, here: &Worker, closure: F, arguments: C) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T, C) -> U,
    {
        let Some(property) = here.properties.get(self.property) else { return Err(self.ended::<N>()) };
        context::note_operation(Delegated::<T, C, U>::that_is::<N, F>(&closure).operation());
        let outcome = catch::delegated(|| {
            // SAFETY: A1: it is a `T`. R3: this is a fiber (`require_fiber`), so no other delegated closure runs on this
            // worker, and this one does not suspend.
            closure(unsafe { &mut *property.cast::<T>() }, arguments)
        });
        outcome.map_err(|Caught { message, place }| self.error::<N>(Reason::Panicked { message, place }))
    }

    /// Applies a closure of any kind to a property of the caller's own worker, within this call. Reports name the
    /// type `N`.
    #[track_caller]
    pub(super) fn call_at_hand<N, U>(&self, closure: impl FnOnce(&mut T) -> U) -> Result<U, DelegationError> {
        // SAFETY: the reference is given up in this frame, which may be suspended meanwhile: A4.
        let From::Trustee(here) = self.from(unsafe { worker::get() }) else {
            panic!("`apply_here` for a property of another worker: use `apply`")
        };
        here.require_fiber("apply_here");
        here.take_turn_to_apply();
        if here.has_outstanding_here() {
            // Behind what this fiber may have sent without waiting, as in `call_slowly`.
            self.call_apart(here, Delegated::of::<N, _>(nothing), (), self.awaited::<N>(here.index))?;
        }
        let Some(property) = here.properties.get(self.property) else { return Err(self.ended::<N>()) };
        context::note_operation(Delegated::<T, _, _>::of::<N, _>(nothing).operation());
        let outcome = catch::delegated(|| {
            // SAFETY: as in `call_here`.
            closure(unsafe { &mut *property.cast::<T>() })
        });
        outcome.map_err(|Caught { message, place }| self.error::<N>(Reason::Panicked { message, place }))
    }

    /// Like `call_at_hand`, for two properties at once.
    #[track_caller]
    pub(super) fn call_both_at_hand<V: 'static, U, F>(
        &self,
        other: Target<'_, V>,
        closure: F,
    ) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T, &mut V) -> U,
    {
        let are_two = self.number == other.number && self.property != other.property;
        assert!(
            are_two,
            "both trusts are of one property, which cannot be borrowed twice: pass two different properties"
        );
        let both = |property: &mut T| {
            let theirs = worker::with(|here| here?.properties.get(other.property))?;
            // SAFETY: A1: it is a `V`. R3: as in `call_here`, and it is not the property that `self` means.
            Some(closure(property, unsafe { &mut *theirs.cast::<V>() }))
        };
        self.call_at_hand::<F, _>(both)?.ok_or_else(|| other.ended::<V>())
    }

    /// The frame, its completion and the wait are written out here and in `call_node`: with a common function
    /// that takes the sending as a closure, calls to a trustee on the caller's own worker take twice as long
    /// (bench `fibers-1`).
    #[inline(always)]
    #[track_caller]
    fn call_by_lane<C, U>(
        &self,
        here: &Worker,
        delegated: Delegated<T, C, U>,
        arguments: C,
        awaited: AnswerWait,
    ) -> Result<U, DelegationError>
    where
        C: 'static,
        U: 'static,
    {
        let trustee = awaited.trustee as usize;
        let lane = here.lane_to(trustee);
        if !lane.client.fits(delegated.operation()) {
            here.make_room(trustee, delegated.operation());
        }
        let answer: Cell<Option<Result<U, DelegationError>>> = Cell::new(None);
        // SAFETY: A3: this frame waits for the answer.
        let then = unsafe { answering(&answer, here.running()) };
        // SAFETY: A1 and A2; it fits, see above.
        unsafe { lane.client.push(delegated, self.property, arguments, then) };
        wait_for(here, &answer, awaited)
    }

    /// `call_by_lane`, compiled once for all closures with these types.
    #[cold]
    #[inline(never)]
    fn call_apart<C, U>(
        &self,
        here: &Worker,
        delegated: Delegated<T, C, U>,
        arguments: C,
        awaited: AnswerWait,
    ) -> Result<U, DelegationError>
    where
        C: 'static,
        U: 'static,
    {
        self.call_by_lane(here, delegated, arguments, awaited)
    }

    /// Like `call_by_lane`, for a trustee of another node.
    #[track_caller]
    fn call_node<N, C: NoRef, U: NoRef, F>(
        &self,
        here: &Worker,
        trustee: usize,
        closure: F,
        arguments: C,
    ) -> Result<U, DelegationError>
    where
        F: FnOnce(&mut T, C) -> U,
    {
        let answer: Cell<Option<Result<U, DelegationError>>> = Cell::new(None);
        // SAFETY: A3: this frame waits for the answer.
        let then = unsafe { answering(&answer, here.running()) };
        self.push_to_node::<N, C, U, _>(
            here,
            trustee,
            Delegated::travelling::<N, F>(closure),
            arguments,
            then,
        );
        wait_for(here, &answer, self.awaited::<N>(trustee))
    }

    /// What a report says about a wait for an answer.
    #[inline(always)]
    #[track_caller]
    fn awaited<N>(&self, trustee: usize) -> AnswerWait {
        AnswerWait { at: Location::caller(), names: AnswerNames::of::<N, T>(), trustee: trustee as u32 }
    }

    /// Like `Target::call_then`, for its closure or a wrapper of it: that one is `'static`.
    #[inline(always)]
    pub(super) fn call_as_it_is_then<N, C, U, F, R>(&self, closure: F, arguments: C, then: R)
    where
        C: NoRef,
        U: NoRef,
        F: FnOnce(&mut T, C) -> U + Send,
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        // SAFETY: the reference is given up in this frame, which may be suspended meanwhile: A4.
        let current = unsafe { worker::get() };
        let (here, trustee) = match self.from(current) {
            From::Worker(here, trustee) => (here, trustee),
            // Through a lane too: `then` must never run inside this call.
            From::Trustee(here) => (here, here.index),
            From::Node(here, trustee) => {
                let delegated = Delegated::travelling::<N, F>(closure);
                return self.push_to_node::<N, C, U, R>(here, trustee, delegated, arguments, then);
            }
            From::Elsewhere => {
                let from = From::Elsewhere;
                let outcome = self.call_slowly::<N, C, U, F>(from, current, "apply_then", closure, arguments);
                return then(outcome);
            }
        };
        self.push(here, trustee, Delegated::of::<N, F>(closure), arguments, then);
    }

    #[inline(always)]
    pub(super) fn push<C, U, R>(
        &self,
        here: &Worker,
        trustee: usize,
        delegated: Delegated<T, C, U>,
        arguments: C,
        then: R,
    ) where
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        let lane = here.lane_to(trustee);
        if !lane.client.fits(delegated.operation()) {
            here.make_room(trustee, delegated.operation());
        }
        // SAFETY: A1 and A2; it fits, see above.
        unsafe { lane.client.push(delegated, self.property, arguments, then) };
    }

    /// Index of the trustee among the workers of all nodes.
    pub(super) fn index(&self) -> u32 {
        self.number.wrapping_sub(self.shared.base)
    }

    #[cold]
    fn ended<N>(&self) -> DelegationError {
        self.error::<N>(Reason::Ended)
    }

    #[cold]
    #[inline(never)]
    fn error<N>(&self, reason: Reason) -> DelegationError {
        worker::with_worker(|here| here.note_failure(&reason));
        DelegationError::new(reason, std::any::type_name::<N>(), self.index())
    }
}

/// A delegated closure that does nothing.
fn nothing<T>(_property: &mut T, (): ()) {}
