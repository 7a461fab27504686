//! [`Outbox`]: batches to the parts of a collection, whose memory comes back to be used again.

use crate::lane::catch::{Caught, caught};
use crate::lane::context::{self, Context};
use crate::lane::error::print;
use crate::worker::{Cancelled, require_fiber};
use crate::{DelegationError, NoRef, Replies, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// Batches on their way to one part.
const UNDER_WAY: usize = 4;

/// Sends a batch to a part; it comes back to these replies.
pub(super) type Deliver<B> = Box<dyn Fn(&Replies<usize, B>, usize, B)>;

/// The batches on their way to the parts of a collection: at most four to each.
pub(super) struct Outbox<B: NoRef> {
    /// For each part.
    under_way: Vec<usize>,
    replies: Replies<usize, B>,
    /// Batches that have come back, empty.
    spare: Vec<B>,
    failed: Option<DelegationError>,
    send: Deliver<B>,
}

impl<B: NoRef> Outbox<B> {
    pub(super) fn new(parts: usize, send: Deliver<B>) -> Self {
        Self { under_way: vec![0; parts], replies: Replies::new(), spare: Vec::new(), failed: None, send }
    }

    /// Batches that were sent and have not come back.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.iter().sum()
    }

    /// An empty batch that was used before.
    pub(super) fn spare(&mut self) -> Option<B> {
        self.spare.pop()
    }

    /// Waits until another batch may be sent to a part.
    #[track_caller]
    pub(super) fn make_way(&mut self, part: usize) {
        while let Some(reply) = self.replies.try_next() {
            self.take_back(reply);
        }
        while self.under_way[part] >= UNDER_WAY {
            let Some(reply) = self.replies.next() else { return };
            self.take_back(reply);
        }
    }

    pub(super) fn send(&mut self, part: usize, batch: B) {
        self.under_way[part] += 1;
        (self.send)(&self.replies, part, batch);
    }

    /// Like `send`, where a panic would be the second one, or reach nobody: it is printed.
    pub(super) fn send_in_drop(&mut self, part: usize, batch: B) {
        match catch_unwind(AssertUnwindSafe(|| self.send(part, batch))) {
            Ok(()) => {}
            // Only where nothing unwinds already.
            Err(payload) if payload.is::<Cancelled>() => resume_unwind(payload),
            Err(payload) => {
                let Caught { message, place } = caught(payload);
                let place = place.as_deref().unwrap_or("an unknown place");
                print(&format!(
                    "gossamer: a batch of updates was not sent, by a panic at {place}: {message}\n"
                ));
            }
        }
    }

    /// Takes a batch back that was served without being sent.
    pub(super) fn served(&mut self, reply: Result<B, DelegationError>) {
        match reply {
            Ok(empty) => self.spare.push(empty),
            Err(error) => {
                self.failed.get_or_insert(error);
            }
        }
    }

    /// Waits until all have come back.
    #[track_caller]
    pub(super) fn finish(&mut self) -> Result<(), DelegationError> {
        require_fiber("finish");
        while let Some(reply) = self.replies.next() {
            self.take_back(reply);
        }
        self.failed.take().map_or(Ok(()), Err)
    }

    fn take_back(&mut self, (part, reply): (usize, Result<B, DelegationError>)) {
        self.under_way[part] -= 1;
        self.served(reply);
    }
}

/// Publishes what was sent, and lets the worker serve the requests of others.
pub(super) fn pause() {
    if context::current() == Context::Fiber {
        yield_now();
    }
}

impl<B: NoRef> Drop for Outbox<B> {
    fn drop(&mut self) {
        if let Some(error) = self.failed.take() {
            print(&format!("gossamer: {error}; its updates were not finished\n"));
        }
    }
}
