//! Delegating to a trustee of another node: the same requests on the same lanes, with values encoded where they have to be.

use crate::lane::catch::{self, Caught};
use crate::lane::constant::{STAYS, travels};
use crate::lane::context::{self, Context};
use crate::lane::encoded::{Apart, Argument, Fixed, Packed, Unanswered, decode_caught};
use crate::lane::error::{DelegationError, Origin, Reason};
use crate::lane::large::LargeValue;
use crate::lane::operation::Delegated;
use crate::lane::property::{ROOT, Root};
use crate::structures::inline_closure::InlineClosure;
use crate::structures::oneshot::OneshotSender;
use crate::sys::fibers::job::{Job, JobId};
use crate::sys::image::location::PortableLocation;
use crate::trust::call::Target;
use crate::trust::cancel;
use crate::trust::job::{or_printed, run_job};
use crate::trust::spawn::Else;
use crate::trust::{NoRef, Returned};
use crate::wire::decoder::Decoder;
use crate::wire::encoder::{Encoder, Refused};
use crate::wire::refusal::Malformed;
use crate::worker::fibers::cancel::job_of_ticket;
use crate::worker::nodes::answers::Outcome;
use crate::worker::{self, Worker, with_worker};
use std::panic::Location;
use std::sync::atomic::AtomicU64;

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
            let reason = Reason::Stays { message: refused.refusal.to_string() };
            // Before the sender is told: this may end streams, for example.
            catch::contained(|| drop(refused));
            then(Err(DelegationError::new(reason, std::any::type_name::<N>(), trustee as u32)));
        }
    }

    /// Like `push_to_node`; returns `then` and the arguments if something in them cannot leave this node.
    #[inline(always)]
    fn try_push<C: NoRef, U: NoRef, R>(
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
        if Fixed::<C>::FITS {
            self.push_argument(here, trustee, delegated, Fixed(arguments), then);
            return Ok(());
        }
        match Packed::new(arguments) {
            Ok(argument) if argument.is_large() => self.push_large(here, trustee, delegated, argument, then),
            Ok(argument) => self.push_argument(here, trustee, delegated, argument, then),
            Err(refused) => return Err((refused, then)),
        }
        Ok(())
    }

    /// Like `push_argument`, of arguments that do not fit a slot.
    #[cold]
    fn push_large<C: NoRef, U: NoRef, R>(
        &self,
        here: &Worker,
        trustee: usize,
        delegated: Delegated<T, C, U>,
        argument: Packed<C>,
        then: R,
    ) where
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        // Before the first fragment: no trustee is to keep fragments for which no request comes.
        match context::current() {
            Context::Fiber => here.unwind_if_cancelled(),
            _ => here.require_backlog(trustee),
        }
        if here.may_wait_for_room() {
            let ticket = here.send_large(trustee, argument.send());
            return self.push_argument(here, trustee, delegated, Apart(ticket), then);
        }
        let (lane, ticket) = (here.lane_to(trustee), here.new_ticket());
        let published = lane.client.make_room();
        self.push_argument(here, trustee, delegated, Apart(ticket), then);
        lane.client.leave_with(LargeValue::new(ticket, argument.send()));
        here.after_push(trustee, published);
    }

    /// Like `push_to_node`, for arguments of type `C` that are already encoded.
    #[inline(always)]
    fn push_argument<C, U: NoRef, R>(
        &self,
        here: &Worker,
        trustee: usize,
        delegated: Delegated<T, C, U>,
        argument: impl Argument<C>,
        then: R,
    ) where
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        let Some(encoded) = delegated.operation().encoded() else {
            unreachable!("an operation of another node is a travelling one")
        };
        let lane = here.lane_to(trustee);
        if !lane.client.fits_encoded(encoded, &argument) {
            here.make_room_for(trustee, |lane| lane.client.fits_encoded(encoded, &argument));
        }
        let then = move |answer| match answer {
            Ok(value) => then(Ok(value)),
            Err(unanswered) => answer_apart(trustee, unanswered, then),
        };
        // SAFETY: A1 and A2; it fits, see above.
        unsafe { lane.client.push_encoded((delegated, encoded), self.property, argument, then) };
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
fn decoded<U: NoRef>(outcome: Outcome) -> Result<U, DelegationError> {
    let mut rows = outcome?;
    decode_caught(|| Decoder::decoded_rows(&mut rows)).map_err(|unanswered| {
        worker::with(|worker| match worker {
            Some(here) => not_decoded::<U>(here, unanswered),
            None => unreachable!("answers come to workers"),
        })
    })
}

/// The worker that asked for a fiber, and the source line: what a fiber of another node needs to answer.
pub(super) struct Asked {
    client: u32,
    ticket: (u32, u64),
    at: PortableLocation,
    /// A fiber is to answer. Until then the response to the request informs the worker that asked.
    accepted: bool,
}

impl Drop for Asked {
    fn drop(&mut self) {
        if self.accepted {
            // The fiber was not started, or its result was lost in a panic: the waiter must be told.
            let error = self.origin::<Self>().error(Reason::Ended);
            with_worker(|here| here.answer(self.client as usize, self.ticket, Err(error)));
        }
    }
}

// SAFETY: numbers, and a place in the program that is the same in every process of it.
unsafe impl NoRef for Asked {
    fn encode(self, to: &mut Encoder) {
        (self.client, self.ticket, self.at.offset()).encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, Malformed> {
        let (client, ticket, offset) = <(u32, (u32, u64), i64)>::decode(from)?;
        // SAFETY: B1: another node of this program encoded a place.
        let at = unsafe { PortableLocation::at_offset(offset) };
        Ok(Self { client, ticket, at, accepted: false })
    }
}

impl Asked {
    /// The place that asked.
    pub(super) fn at(&self) -> &'static Location<'static> {
        self.at.location()
    }

    /// What a report says about what was asked for.
    pub(super) fn origin<N>(&self) -> Origin {
        let worker = worker::with(|worker| worker.map_or(0, |here| here.index));
        Origin::of::<N>(worker as u32, self.at())
    }

    /// The number of the job, or jobs, that it becomes.
    pub(super) fn job_id(&self) -> JobId {
        job_of_ticket(self.ticket)
    }

    /// The request was read completely: from here on dropping this informs the worker that asked.
    pub(super) fn accept(mut self) -> Self {
        self.accepted = true;
        self
    }

    /// Sends the outcome to the worker that asked.
    pub(super) fn send(mut self, outcome: Outcome) {
        self.accepted = false;
        with_worker(|here| here.answer(self.client as usize, self.ticket, outcome));
    }

    /// The job of a fiber that runs `body` and sends its result to the worker that asked.
    pub(super) fn job<N, U: Returned>(self, here: &Worker, body: impl FnOnce() -> U + 'static) -> Job {
        let (spawned_at, id) = (self.at(), self.job_id());
        let origin = Origin::of::<N>(here.index as u32, spawned_at);
        let asked = self.accept();
        let answer = move |outcome: Result<U, DelegationError>| {
            asked.send(outcome.and_then(|result| encoded(result.into_sent(), origin)));
        };
        Job { start: InlineClosure::new(move |start| run_job(body, start, origin, answer)), spawned_at, id }
    }
}

/// A result as bytes. Encoding may run code of the program.
pub(super) fn encoded<U: NoRef>(result: U, origin: Origin) -> Outcome {
    match catch::delegated(|| Encoder::marshal_in_rows(result)) {
        Ok(Ok(result)) => Ok(result.send()),
        Ok(Err(Refused { refusal, value })) => {
            catch::contained(|| drop(value));
            Err(origin.error(Reason::Stays { message: refusal.to_string() }))
        }
        Err(Caught { message, place }) => Err(origin.error(Reason::Panicked { message, place })),
    }
}

/// Sends a request to a trustee of another node whose result comes from a fiber there, to `answer`; `note` gets the number of its job.
/// The user's closure is `N`.
pub(super) fn ask<N, T: 'static, C: NoRef, U: Returned>(
    here: &Worker,
    to: (usize, Target<'_, T>),
    delegated: Delegated<T, (Asked, C), ()>,
    arguments: C,
    (origin, answer): (Origin, impl FnOnce(Result<U, DelegationError>) + 'static),
    note: impl FnOnce(JobId),
) {
    if let Err((Refused { refusal, value }, failed)) =
        try_ask::<N, _, _, _>(here, to, delegated, arguments, (origin, answer), note)
    {
        catch::contained(|| drop(value));
        failed(Err(origin.error(Reason::Stays { message: refusal.to_string() })));
    }
}

/// Like `ask`; `note` gets the number of the fiber's job. Returns what cannot leave this node, and a callback that
/// tells `answer` so.
fn try_ask<N, T: 'static, C: NoRef, U: Returned>(
    here: &Worker,
    (trustee, target): (usize, Target<'_, T>),
    delegated: Delegated<T, (Asked, C), ()>,
    arguments: C,
    (origin, answer): (Origin, impl FnOnce(Result<U, DelegationError>) + 'static),
    note: impl FnOnce(JobId),
) -> Result<(), (Refused<(Asked, C)>, impl FnOnce(Result<(), DelegationError>) + 'static)> {
    if !travels::<N>() {
        answer(Err(origin.error(Reason::Stays { message: STAYS.into() })));
        return Ok(());
    }
    let ticket =
        here.expect_new(Box::new(move |outcome| answer(decoded::<U::Sent>(outcome).map(U::from_sent))));
    note(job_of_ticket(ticket));
    let at = PortableLocation::of(origin.sent_from());
    let asked = Asked { client: here.index as u32, ticket, at, accepted: false };
    let failed = move |outcome: Result<(), DelegationError>| {
        if let Err(error) = outcome {
            with_worker(|here| here.answer(here.index, ticket, Err(error)));
        }
    };
    let withdraw = Withdraw { here, ticket };
    let pushed = target.try_push(here, trustee, delegated, (asked, arguments), failed);
    std::mem::forget(withdraw);
    pushed
}

/// Withdraws the waiter for an answer if the request panics on the way: while an argument is encoded, or because the
/// backlog is far too long.
struct Withdraw<'a> {
    here: &'a Worker,
    ticket: (u32, u64),
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.here.nodes.answers.withdraw(self.ticket);
    }
}

/// Starts a fiber on a worker of another node.
pub(super) fn start<N, C: NoRef, U: Returned, F>(
    here: &Worker,
    (trustee, or_else): (usize, Else),
    f: F,
    arguments: C,
    (origin, sender): (Origin, OneshotSender<Result<U, DelegationError>>),
    job: &AtomicU64,
) where
    F: FnOnce(C) -> U + Send + 'static,
{
    let arrive = move |_: &mut Root, (asked, arguments): (Asked, C)| {
        with_worker(|here| here.fibers.scheduler.submit(asked.job::<N, U>(here, move || f(arguments))));
    };
    let target = Target {
        shared: &here.shared,
        number: here.shared.base + trustee as u32,
        property: ROOT,
        of: std::marker::PhantomData,
    };
    let (delegated, to) = (Delegated::travelling::<N, _>(arrive), (trustee, target));
    let answer = move |outcome| sender.send(or_printed(outcome));
    let note = |id| cancel::note(job, id);
    match try_ask::<N, _, _, _>(here, to, delegated, arguments, (origin, answer), note) {
        Ok(()) => here.send_soon(trustee),
        // The caller has not said where it is to run.
        Err((Refused { value: Some((asked, arguments)), .. }, _)) if matches!(or_else, Else::Here) => {
            here.tell(here.next_spawn_here(), delegated, (asked.accept(), arguments));
        }
        Err((Refused { refusal, value }, failed)) => {
            catch::contained(|| drop(value));
            failed(Err(origin.error(Reason::Stays { message: refusal.to_string() })));
        }
    }
}
