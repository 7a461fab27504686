//! Sending requests to another process, and taking its responses. Like `client.rs`, but values are encoded where
//! necessary, and lengths that a peer wrote are checked.

use crate::fabric::Fabric;
use crate::lane::client::Client;
use crate::lane::completion::{Completion, Kind};
use crate::lane::encoded::{Argument, Encoded, Fixed, Unanswered, VARIABLE, answer_words, bytes_at};
use crate::lane::operation::Delegated;
use crate::lane::property::{ROOT, Root};
use crate::wire::NoRef;
use crate::wire::batch::failure_words;
use crate::wire::refusal::Malformed;
use crate::wire::request::RequestHeader;
use std::panic::Location;

impl<F: Fabric> Client<F> {
    /// Whether a request fits the batch being gathered, whose arguments take so many words. If not, `make_room` first.
    #[inline(always)]
    pub(crate) fn fits_encoded(&self, operation: &Encoded, arguments: usize) -> bool {
        self.staged.has_room(1 + arguments, answer_words(operation.result))
    }

    /// Adds a request to the batch being gathered.
    ///
    /// # Safety
    /// It fits (`fits_encoded`). The arguments are of the type that the operation takes, and its result is a `U`.
    /// `property` is the index, at this lane's trustee, of a property of the operation's type that lives until this
    /// request has been served.
    #[inline(always)]
    pub(crate) unsafe fn push_encoded<C, U: NoRef, R>(
        &self,
        operation: &Encoded,
        property: u32,
        arguments: impl Argument<C>,
        then: R,
    ) where
        R: FnOnce(Result<U, Unanswered>) + 'static,
    {
        let header = RequestHeader { property, operation: operation.identity() };
        let words = (arguments.words(), answer_words(operation.result));
        // SAFETY: guaranteed by the caller.
        unsafe { self.staged.push_written(header, words, |place| arguments.write(place)) };
        let write = |place: *mut Completion| {
            // SAFETY: the queue provides room for a completion.
            unsafe { Completion::write_encoded::<U, R>(place, then) };
        };
        // SAFETY: `write` makes a whole one, and pushes nothing.
        unsafe { self.completions.push_in_place(write) };
    }

    /// Whether a run fits the batch being gathered that begins with a request whose arguments take so many words. If
    /// not, `make_room` first.
    #[inline(always)]
    pub(crate) fn fits_encoded_run(&self, arguments: usize) -> bool {
        self.staged.has_room(2 + arguments, answer_words(0))
    }

    /// Like `continue_run`, for a trustee of another process.
    ///
    /// # Safety
    /// As for `push_encoded`, except that it need not fit.
    #[inline(always)]
    pub(crate) unsafe fn continue_encoded_run<C: NoRef>(
        &self,
        operation: &Encoded,
        property: u32,
        arguments: Fixed<C>,
        sent_from: &'static Location<'static>,
    ) -> Result<(), Fixed<C>> {
        let header = RequestHeader { property, operation: operation.identity() };
        let words = arguments.words();
        if !self.goes_on(header, words, sent_from, self.room()) {
            return Err(arguments);
        }
        // SAFETY: just checked: the end is a run that has room. Equal headers have arguments of one type.
        unsafe { self.staged.push_next_written(words, |place| arguments.write(place)) };
        Ok(())
    }

    /// Like `begin_run`, for a trustee of another process.
    ///
    /// # Safety
    /// As for `push_encoded`, of an operation in runs; it fits: `fits_encoded_run`.
    #[inline(always)]
    pub(crate) unsafe fn begin_encoded_run<C: NoRef>(
        &self,
        operation: &Encoded,
        property: u32,
        arguments: Fixed<C>,
        sent_from: &'static Location<'static>,
    ) {
        let header = RequestHeader { property, operation: operation.identity() };
        let words = arguments.words();
        // SAFETY: guaranteed by the caller.
        unsafe { self.staged.push_run_written(header, sent_from, words, |place| arguments.write(place)) };
        self.expect_run(sent_from);
    }

    /// Like `push_to_root`, for a trustee of another process.
    pub(crate) fn push_encoded_to_root<C, R>(
        &self,
        delegated: Delegated<Root, C, ()>,
        arguments: impl Argument<C>,
        then: R,
    ) -> bool
    where
        R: FnOnce(Result<(), Unanswered>) + 'static,
    {
        let Some(encoded) = delegated.operation().encoded() else { return false };
        let published = !self.fits_encoded(encoded, arguments.words()) && self.make_room();
        // SAFETY: room was made if needed, and every operation fits an empty batch. Every table of properties holds a
        // `Root` at `ROOT` until its worker has ended. The types are those of `delegated`.
        unsafe { self.push_encoded::<C, (), _>(encoded, ROOT, arguments, then) };
        published
    }

    /// Like `take_responses`, for responses of another process. `failed` gets the tickets of the errors in runs, and
    /// the places that the requests were sent from.
    ///
    /// # Errors
    /// If no trustee of this program writes such a batch.
    #[inline]
    pub(crate) fn take_encoded(
        &self,
        failed: impl FnMut(u64, &'static Location<'static>),
    ) -> Result<bool, Malformed> {
        if !self.has_unanswered() {
            return Ok(false);
        }
        let Some(header) = self.landed() else { return Ok(false) };
        let slot = self.answered.get() as usize;
        let (count, words) = (usize::from(header.count), usize::from(header.words));
        if !(failure_words(count)..=self.responses.words()).contains(&words) {
            return Err(Malformed::instead_of::<[u64]>());
        }
        self.notes.note_answers(header.sequence, count, words);
        let read = |body| {
            // SAFETY: L3: the header has the sequence awaited, so the batch is whole; it stays until it is given back
            // below. A slot has room for this many words (checked).
            self.complete_encoded(unsafe { std::slice::from_raw_parts(body, words) }, count, failed)
        };
        // SAFETY: the header was found.
        unsafe { self.responses.read(slot, read) }?;
        // SAFETY: as above. The slot is not used for another request before `answered` moves on.
        unsafe { self.responses.give_back(slot) };
        self.answered.set(header.sequence);
        Ok(true)
    }

    /// Runs the completions of a batch of `count` responses.
    fn complete_encoded(
        &self,
        body: &[u64],
        count: usize,
        mut failed: impl FnMut(u64, &'static Location<'static>),
    ) -> Result<(), Malformed> {
        let failures = &body[..failure_words(count)];
        let mut at = failures.len();
        let next = |index: usize, kind: &'static Kind| {
            // None if the peer answers fewer requests than a run has.
            let failed = failures.get(index / 64)? >> (index % 64) & 1 != 0;
            let rest = body.get(at..)?;
            let words = match kind.words() {
                _ if failed => 1,
                words if words == VARIABLE.into() => bytes_at(rest).ok()?.1,
                words => words,
            };
            at += words;
            Some((rest.get(..words)?.as_ptr(), failed))
        };
        // SAFETY: `next` found a word there.
        let failed = |response: *const u64, sent_from| failed(unsafe { response.read() }, sent_from);
        let all_are_there = if failures.iter().all(|failures| *failures == 0) {
            // SAFETY: K2 and the order of lanes make the first completion the one of the first response left, and it is whole.
            unsafe { self.complete_each::<false>(count, next, failed) }
        } else {
            // SAFETY: as above.
            unsafe { self.complete_each::<true>(count, next, failed) }
        };
        all_are_there.then_some(()).ok_or_else(Malformed::instead_of::<[u64]>)
    }
}
