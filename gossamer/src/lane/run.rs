//! Runs: consecutive requests of one operation to one property, from one place of the source, without results and whose
//! outcome nobody takes. Their header is sent once, with their number, and there is one completion for all of them.
//!
//! A run is written as a header, the number of its requests (at least 1), and then the arguments of each. They count,
//! and are answered, as so many requests: that a response has no words unless it is an error is what makes runs simple.
//! Between processes (`encoded/`) arguments of one size are sent that way, and a peer's number is checked.
//!
//! Invariant K3: if a batch being gathered ends with a run (`RequestBatch::continues`), then its completion is the last one
//! in the queue of the client, or the queue was emptied by `close`: whatever is pushed to one is pushed to the other.

use crate::fabric::Fabric;
use crate::lane::client::Client;
use crate::lane::completion::{Completion, Kind, Run};
use crate::lane::operation::{Delegated, Operation};
use crate::wire::batch::BODY_WORDS;
use crate::wire::request::RequestHeader;
use std::panic::Location;

impl<F: Fabric> Client<F> {
    /// Whether a request fits the batch being gathered, if it does not continue a run. If not, `make_room` first.
    #[inline(always)]
    pub(crate) fn fits_run(&self, operation: &Operation) -> bool {
        self.staged.fits_run(operation)
    }

    /// Adds a request to the run at the end of the batch being gathered, if it is of the same kind. Otherwise returns
    /// its arguments.
    ///
    /// # Safety
    /// As for `push`, except that it need not fit.
    #[inline(always)]
    pub(crate) unsafe fn continue_run<T, C>(
        &self,
        delegated: Delegated<T, C, ()>,
        property: u32,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) -> Result<(), C> {
        let header = RequestHeader { property, operation: delegated.identity() };
        if !self.goes_on(header, delegated.operation().arguments(), sent_from, BODY_WORDS) {
            return Err(arguments);
        }
        // SAFETY: just checked: the end is a run that has room. Equal headers have arguments of one type.
        unsafe { self.staged.push_next(arguments) };
        Ok(())
    }

    /// Adds a request to the batch being gathered, which begins a run.
    ///
    /// # Safety
    /// As for `push`; it fits: `fits_run`.
    #[inline(always)]
    pub(crate) unsafe fn begin_run<T, C>(
        &self,
        delegated: Delegated<T, C, ()>,
        property: u32,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) {
        let header = RequestHeader { property, operation: delegated.identity() };
        // SAFETY: guaranteed by the caller.
        unsafe { self.staged.push_run(header, arguments, sent_from) };
        self.expect_run(sent_from);
    }

    /// Whether one more request of so many words goes to the run at the end of the batch being gathered, in slots of
    /// `room` words. If so, its completion counts it (K3).
    #[inline(always)]
    pub(super) fn goes_on(
        &self,
        header: RequestHeader,
        words: usize,
        sent_from: &'static Location<'static>,
        room: usize,
    ) -> bool {
        self.staged.continues(header, words, sent_from, room)
            && self.completions.with_last(|last| last.run().map(|run| run.requests += 1)).flatten().is_some()
    }

    /// Queues the completion of a run of one request.
    #[inline(always)]
    pub(super) fn expect_run(&self, sent_from: &'static Location<'static>) {
        let write = |place: *mut Completion| {
            // SAFETY: the queue provides room for a completion.
            unsafe { Completion::write_run(place, sent_from) };
        };
        // SAFETY: `write` makes a whole one, and pushes nothing.
        unsafe { self.completions.push_in_place(write) };
    }
}

/// Passes each failure among the responses to a run, the first of which has this index, to `failed`, with the place in
/// the source. `next` is that of `Client::complete_each`. Returns whether all responses are there.
#[cold]
pub(super) fn take_failures(
    run: Run,
    kind: &'static Kind,
    index: usize,
    next: &mut impl FnMut(usize, &'static Kind) -> Option<(*const u64, bool)>,
    failed: &mut impl FnMut(*const u64, &'static Location<'static>),
) -> bool {
    (index..index + run.requests).all(|index| {
        let response = next(index, kind);
        if let Some((response, true)) = response {
            failed(response, run.sent_from);
        }
        response.is_some()
    })
}
