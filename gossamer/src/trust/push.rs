//! Requests to a trustee of another node: on the same lanes, with values encoded where they have to be.

use crate::lane::catch::{self, Caught};
use crate::lane::constant::{STAYS, travels};
use crate::lane::context::{self, Context};
use crate::lane::encoded::{Apart, Argument, Encoded, Fixed, Packed, PackedRows, Unanswered, decode_caught};
use crate::lane::error::{DelegationError, Reason};
use crate::lane::large::LargeValue;
use crate::lane::operation::Delegated;
use crate::trust::NoRef;
use crate::trust::call::Target;
use crate::wire::decoder::Decoder;
use crate::wire::encoder::Refused;
use crate::wire::rows::Rows;
use crate::worker::nodes::answers::Outcome;
use crate::worker::{self, Worker, with_worker};
use std::panic::Location;

impl<T: 'static> Target<'_, T> {
    /// Applies a closure at a trustee of another node, and calls `then` with the outcome on this worker. Only a fiber
    /// waits for room on the lane.
    #[inline(always)]
    pub(super) fn push_to_node<N, C: NoRef, U: NoRef, R>(
        &self,
        here: &Worker,
        trustee: usize,
        delegated: Delegated<T, C, U>,
        arguments: C,
        then: R,
    ) where
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        if !travels::<N>() {
            let reason = Reason::Stays { message: STAYS.into() };
            return then(Err(DelegationError::new(reason, std::any::type_name::<N>(), trustee as u32)));
        }
        if let Err((refused, then)) = self.try_push(here, trustee, delegated, arguments, then) {
            then(Err(stays(refused, std::any::type_name::<N>(), trustee)));
        }
    }

    /// Adds a request of an operation in runs, whose arguments take the words of their type, for a trustee of another node.
    #[inline(always)]
    pub(super) fn push_in_run_to_node<C: NoRef>(
        &self,
        here: &Worker,
        trustee: usize,
        delegated: Delegated<T, C, ()>,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) {
        let Some(operation) = delegated.operation().encoded() else {
            unreachable!("an operation of another node is a travelling one")
        };
        let (client, arguments) = (&here.lane_to(trustee).client, Fixed(arguments));
        // SAFETY: A1 and A2. The types are those of `delegated`.
        let continued =
            unsafe { client.continue_encoded_run(operation, self.property, arguments, sent_from) };
        if let Err(arguments) = continued {
            let words = arguments.words();
            if !client.fits_encoded_run(words) {
                here.make_room_for(trustee, &|lane| lane.client.fits_encoded_run(words));
            }
            // SAFETY: as above; it fits.
            unsafe { client.begin_encoded_run(operation, self.property, arguments, sent_from) };
        }
    }

    /// `push_to_node` as a function of its own, for calls that allocate anyway: they share it.
    #[inline(never)]
    pub(super) fn push_to_node_apart<N, C: NoRef, U: NoRef, R>(
        &self,
        here: &Worker,
        trustee: usize,
        delegated: Delegated<T, C, U>,
        arguments: C,
        then: R,
    ) where
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        self.push_to_node::<N, C, U, R>(here, trustee, delegated, arguments, then);
    }

    /// Like `push_to_node`; returns `then` and the arguments if something in them cannot leave this node.
    #[inline(always)]
    pub(super) fn try_push<C: NoRef, U: NoRef, R>(
        &self,
        here: &Worker,
        trustee: usize,
        delegated: Delegated<T, C, U>,
        arguments: C,
        then: R,
    ) -> Result<(), (Refused<C>, R)>
    where
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        let Some(operation) = delegated.operation().encoded() else {
            unreachable!("an operation of another node is a travelling one")
        };
        let to = (trustee, self.property);
        if Fixed::<C>::FITS {
            let argument = Fixed(arguments);
            here.make_room_for_words(trustee, operation, argument.words());
            // SAFETY: A1 and A2; it fits, see above. The types are those of `delegated`.
            unsafe { push::<C, U, R>(here, to, operation, argument, then) };
            return Ok(());
        }
        match Packed::new(arguments) {
            Ok(argument) if argument.is_large() => {
                // Before the first fragment: no trustee is to keep fragments for which no request comes.
                match context::current() {
                    Context::Fiber => here.unwind_if_cancelled(),
                    _ => here.require_backlog(trustee),
                }
                // SAFETY: A1 and A2. The types are those of `delegated`.
                unsafe { push_large::<U, R>(here, to, operation, argument.send(), then) };
            }
            Ok(argument) => {
                here.make_room_for_words(trustee, operation, argument.words());
                // SAFETY: A1 and A2; it fits, see above. The types are those of `delegated`.
                unsafe { push_packed::<U, R>(here, to, operation, argument.send(), then) };
            }
            Err(refused) => return Err((refused, then)),
        }
        Ok(())
    }
}

impl Worker {
    /// Makes room for a request to another node whose arguments take so many words.
    #[inline(always)]
    fn make_room_for_words(&self, trustee: usize, operation: &Encoded, words: usize) {
        if !self.lane_to(trustee).client.fits_encoded(operation, words) {
            self.make_room_for(trustee, &|lane| lane.client.fits_encoded(operation, words));
        }
    }
}

/// Says why arguments cannot leave this node, and drops them: before the sender is told, since this may end streams,
/// for example.
#[cold]
fn stays<C>(refused: Refused<C>, name: &'static str, trustee: usize) -> DelegationError {
    let reason = Reason::Stays { message: refused.refusal.to_string() };
    catch::contained(|| drop(refused));
    DelegationError::new(reason, name, trustee as u32)
}

/// Adds a request to a property of a trustee to the batch being gathered.
///
/// # Safety
/// Like `Client::push_encoded`.
#[inline(always)]
unsafe fn push<C, U: NoRef, R>(
    here: &Worker,
    (trustee, property): (usize, u32),
    operation: &Encoded,
    argument: impl Argument<C>,
    then: R,
) where
    R: FnOnce(Result<U, DelegationError>) + 'static,
{
    let then = here_or_apart(trustee, then);
    // SAFETY: guaranteed by the caller.
    unsafe { here.lane_to(trustee).client.push_encoded(operation, property, argument, then) };
}

/// Like `push`, of encoded arguments.
///
/// # Safety
/// Like `push`.
unsafe fn push_packed<U: NoRef, R>(
    here: &Worker,
    to: (usize, u32),
    operation: &Encoded,
    argument: Rows,
    then: R,
) where
    R: FnOnce(Result<U, DelegationError>) + 'static,
{
    // SAFETY: guaranteed by the caller.
    unsafe { push::<(), U, R>(here, to, operation, PackedRows(argument), then) };
}

/// Like `push`, of arguments that do not fit a slot; makes room itself.
///
/// # Safety
/// Like `push`, but that it fits.
#[cold]
unsafe fn push_large<U: NoRef, R>(
    here: &Worker,
    to: (usize, u32),
    operation: &Encoded,
    argument: Rows,
    then: R,
) where
    R: FnOnce(Result<U, DelegationError>) + 'static,
{
    let (trustee, _) = to;
    let client = &here.lane_to(trustee).client;
    // What cannot wait leaves together with its request, in a batch of their own.
    let (ticket, together) = if here.may_wait_for_room() {
        (here.send_large(trustee, argument), None)
    } else {
        let ticket = here.new_ticket();
        (ticket, Some((client.make_room(), LargeValue::new(ticket, argument))))
    };
    here.make_room_for_words(trustee, operation, Apart::WORDS);
    // SAFETY: it fits, see above; under this ticket come the arguments. The rest is guaranteed by the caller.
    unsafe { push::<(), U, R>(here, to, operation, Apart(ticket), then) };
    if let Some((published, value)) = together {
        client.leave_with(value);
        here.after_push(trustee, published);
    }
}

/// The completion of a request to another node. Its type depends on those of result and callback only: a closure that is
/// written where the request is generic would be compiled for each delegated closure.
#[inline(always)]
fn here_or_apart<U: NoRef, R>(
    trustee: usize,
    then: R,
) -> impl FnOnce(Result<U, Unanswered>) + 'static + use<U, R>
where
    R: FnOnce(Result<U, DelegationError>) + 'static,
{
    move |answer| match answer {
        Ok(value) => then(Ok(value)),
        Err(unanswered) => answer_apart(trustee, unanswered, then),
    }
}

/// Keeps `then` for an answer that comes apart from its response.
#[cold]
fn answer_apart<U: NoRef, R>(trustee: usize, unanswered: Unanswered, then: R)
where
    R: FnOnce(Result<U, DelegationError>) + 'static,
{
    with_worker(|here| match unanswered {
        Unanswered::Late(number) => {
            let then = move |outcome: Outcome| {
                if outcome.is_err() {
                    with_worker(|here| here.lane_to(trustee).client.counters().failed.add(1));
                }
                then(decoded(outcome));
            };
            here.nodes.answers.expect((trustee, number), Box::new(then));
        }
        unanswered => {
            here.lane_to(trustee).client.counters().failed.add(1);
            then(Err(not_decoded::<U>(here, unanswered)));
        }
    });
}

/// Why an answer could not be decoded: the program's own code failed, or the node runs another program.
fn not_decoded<U>(here: &Worker, unanswered: Unanswered) -> DelegationError {
    let (message, place) = match unanswered {
        Unanswered::Panicked(Caught { message, place }) => (message, place),
        Unanswered::Malformed(malformed) => (malformed.to_string(), None),
        Unanswered::Late(_) => unreachable!("what came late does not come later"),
    };
    DelegationError::new(Reason::Panicked { message, place }, std::any::type_name::<U>(), here.index as u32)
}

/// A result from another node.
pub(super) fn decoded<U: NoRef>(outcome: Outcome) -> Result<U, DelegationError> {
    let mut rows = outcome?;
    decode_caught(|| Decoder::decoded_rows(&mut rows)).map_err(|unanswered| {
        worker::with(|worker| match worker {
            Some(here) => not_decoded::<U>(here, unanswered),
            None => unreachable!("answers come to workers"),
        })
    })
}
