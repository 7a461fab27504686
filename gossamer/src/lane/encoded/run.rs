//! Serving a run (`lane/run.rs`) that another process wrote: its number is checked, and so are its arguments.

use crate::lane::catch;
use crate::lane::encoded::operation::ManyEncoded;
use crate::lane::encoded::server::{EncodedBatch, Request};
use crate::lane::encoded::{Arguments, Encoded};
use crate::lane::error::Reason;
use crate::lane::operation::Operation;
use crate::wire::refusal::Malformed;
use std::cell::Cell;

/// The run whose requests are being served: `at` is at the arguments of the next.
pub(super) struct EncodedRun {
    property: u32,
    operation: &'static Operation,
    encoded: &'static Encoded,
    many: ManyEncoded,
    /// Requests that were not served when `many` was called; not 0.
    left: usize,
    /// Those of them that it has served.
    served: Cell<usize>,
}

impl EncodedBatch<'_> {
    /// Enters the run whose header was read, in a batch of `count` requests.
    ///
    /// # Errors
    /// If it has no requests, more than the batch, or more than there are arguments or room for errors.
    #[inline(always)]
    pub(super) fn begin_run(
        &mut self,
        request: &Request,
        many: ManyEncoded,
        count: usize,
    ) -> Result<(), Malformed> {
        let &Request { property, operation, encoded, .. } = request;
        let Some((&number, arguments)) = self.body[self.at + 1..].split_first() else {
            return Err(Malformed::instead_of::<Operation>());
        };
        let most = (count - self.index).min(self.answer.len() - self.used);
        let left = usize::try_from(number).unwrap_or(usize::MAX);
        if left == 0 || left > most || left * usize::from(encoded.arguments) > arguments.len() {
            return Err(Malformed::instead_of::<Operation>());
        }
        self.at += 2;
        self.run = Some(EncodedRun { property, operation, encoded, many, left, served: Cell::new(0) });
        Ok(())
    }

    /// Serves what is left of the run that `at` is in, if it is in one. A panic leaves `at` where it is
    /// (`leave_served`).
    #[inline(always)]
    pub(super) fn rest_of_run(&mut self) {
        while let Some(run) = &self.run {
            let arguments = &self.body[self.at..];
            let Some(property) = self.serving.properties.get(run.property) else {
                self.discard_next();
                continue;
            };
            // SAFETY: the sender vouched that the property has the operation's type (`Client::begin_encoded_run`), and
            // R3 that nothing else refers to it. The arguments of those left are there (`begin_run`), and unread.
            let outcome = unsafe { (run.many)(property, arguments.as_ptr(), run.left, &run.served) };
            if let Some((operation, words)) = self.leave_served()
                && let Err(malformed) = outcome
            {
                self.fail_malformed(operation, words, &malformed);
            }
        }
    }

    /// Goes past those requests of the run that have been served. Returns the operation and the words of the next, if
    /// there is one: it is to be answered with an error, and does not count as one of the run any more.
    #[inline(always)]
    pub(super) fn leave_served(&mut self) -> Option<(&'static Operation, usize)> {
        let run = self.run.as_mut()?;
        let (served, words) = (run.served.take(), usize::from(run.encoded.arguments));
        self.at += served * words;
        self.index += served;
        let next = (run.left > served).then_some((run.operation, words));
        run.left = run.left.saturating_sub(served + 1);
        if run.left == 0 {
            self.run = None;
        }
        next
    }

    /// Drops the arguments of the next request of the run, whose property is gone.
    #[cold]
    fn discard_next(&mut self) {
        let (Some(discard), Some((operation, words))) =
            (self.run.as_ref().map(|run| run.encoded.discard), self.leave_served())
        else {
            return;
        };
        let arguments = Arguments::Fixed(&self.body[self.at..][..words]);
        // SAFETY: they are those of a request for this operation, taken out once.
        let _reported = catch::delegated(|| unsafe { discard(arguments) });
        self.fail(operation, words, Reason::Ended);
    }
}
