//! Requests to another node whose results come from a fiber there.

use crate::lane::catch::{self, Caught};
use crate::lane::constant::{STAYS, travels};
use crate::lane::error::{DelegationError, Origin, Reason};
use crate::lane::operation::Delegated;
use crate::lane::property::{ROOT, Root};
use crate::structures::inline_closure::InlineClosure;
use crate::structures::oneshot::OneshotSender;
use crate::sys::fibers::job::{Job, JobId};
use crate::sys::image::location::PortableLocation;
use crate::trust::call::Target;
use crate::trust::cancel;
use crate::trust::job::{or_printed, run_job};
use crate::trust::push::decoded;
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
    let answer = move |outcome| sender.send(or_printed(outcome, origin));
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
