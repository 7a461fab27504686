//! The requesting end of a lane: gathers requests into batches, publishes them, runs their completions.
//!
//! Invariants (L1 to L4 are the protocol's, see `README.md`)
//! - K1: a client is used by only one thread (it is not `Sync`), and none of its methods runs user code except
//!   `take_responses` and `close`, which hold no reference into a cell meanwhile.
//! - K2: `completions` holds, in order, one entry for each request, or run of requests, that was pushed and not yet
//!   answered.

use crate::counters::lane::{SentCounters, SentNotes};
use crate::fabric::{Fabric, SlotMemory};
use crate::lane::catch;
use crate::lane::completion::{Completion, Kind};
use crate::lane::error::{DelegationError, report};
use crate::lane::large::LargeValue;
use crate::lane::operation::{Delegated, Operation};
use crate::lane::property::{ROOT, Root};
use crate::lane::run::take_failures;
use crate::lane::staging::RequestBatch;
use crate::structures::local_queue::LocalQueue;
use crate::wire::batch::{BODY_WORDS, FAILURE_WORDS, Header};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::panic::Location;
use std::sync::Arc;

/// The end of a lane that sends requests.
pub(crate) struct Client<F> {
    /// Writes the request slots, which are in the trustee's memory.
    fabric: F,
    /// Our response slots.
    pub(super) responses: Arc<SlotMemory>,
    pub(super) staged: RequestBatch,
    pub(super) completions: LocalQueue<Completion>,
    /// Batches published and batches answered, wrapping: their difference is in flight, at most `slots`.
    published: Cell<u32>,
    pub(super) answered: Cell<u32>,
    /// Zero once this end is closed.
    slots: Cell<u32>,
    /// Batches without room, pushed by code that could not wait.
    backlog: RefCell<VecDeque<Waiting>>,
    pub(super) notes: SentNotes,
}

/// A batch of the backlog.
struct Waiting {
    batch: Box<RequestBatch>,
    /// The large arguments of its only request, which are sent before it.
    value: Option<LargeValue>,
}

impl<F: Fabric> Client<F> {
    /// A client whose counters nobody reads.
    #[cfg(test)]
    pub(crate) fn new(fabric: F, responses: Arc<SlotMemory>) -> Self {
        Self::noting(fabric, responses, SentNotes::default())
    }

    pub(crate) fn noting(fabric: F, responses: Arc<SlotMemory>, notes: SentNotes) -> Self {
        Self {
            fabric,
            slots: Cell::new(responses.slots()),
            staged: RequestBatch::new(responses.words()),
            completions: LocalQueue::with_capacity(BODY_WORDS),
            responses,
            published: Cell::new(0),
            answered: Cell::new(0),
            backlog: RefCell::default(),
            notes,
        }
    }

    pub(crate) fn fabric(&self) -> &F {
        &self.fabric
    }

    pub(crate) fn counters(&self) -> &SentCounters {
        &self.notes.counters
    }

    /// Whether a request fits the batch being gathered. If not, `make_room` first.
    #[inline(always)]
    pub(crate) fn fits(&self, operation: &Operation) -> bool {
        self.staged.fits(operation)
    }

    /// Whether `make_room` would publish. Callers that can wait, wait for this.
    #[inline]
    pub(crate) fn has_free_slot(&self) -> bool {
        self.under_way() < self.slots.get()
    }

    /// Batches that may be answered at once.
    #[inline(always)]
    pub(crate) fn slots(&self) -> u32 {
        self.responses.slots()
    }

    /// Words of a batch.
    pub(crate) fn room(&self) -> usize {
        self.responses.words()
    }

    /// Requests pushed and not yet answered.
    pub(crate) fn outstanding(&self) -> usize {
        self.completions.len()
    }

    /// Requests in the backlog, which only code that cannot wait adds to.
    pub(crate) fn backlog(&self) -> usize {
        self.counters().backlog.get() as usize
    }

    /// Adds a request to the batch being gathered.
    ///
    /// # Safety
    /// It fits. `property` is the index, at this lane's trustee, of a property of type `T` that lives until this
    /// request has been served.
    #[inline(always)]
    pub(crate) unsafe fn push<T, C, U, R>(
        &self,
        delegated: Delegated<T, C, U>,
        property: u32,
        arguments: C,
        then: R,
    ) where
        R: FnOnce(Result<U, DelegationError>) + 'static,
    {
        // SAFETY: guaranteed by the caller.
        unsafe { self.staged.push(delegated, property, arguments) };
        let write = |place: *mut Completion| {
            // SAFETY: the queue provides room for a completion.
            unsafe { Completion::write::<U, R>(place, then) };
        };
        // SAFETY: `write` makes a whole one, and pushes nothing.
        unsafe { self.completions.push_in_place(write) };
    }

    /// Adds an operation on the trustee itself, which lives as long as its lanes; makes room for it if needed.
    /// Returns whether a batch was published.
    pub(crate) fn push_to_root<C, R>(&self, delegated: Delegated<Root, C, ()>, arguments: C, then: R) -> bool
    where
        C: Send + 'static,
        R: FnOnce(Result<(), DelegationError>) + 'static,
    {
        let published = !self.fits(delegated.operation()) && self.make_room();
        // SAFETY: room was made if needed, and every operation fits an empty batch. Every table of properties holds a
        // `Root` at `ROOT` until its worker has ended.
        unsafe { self.push(delegated, ROOT, arguments, then) };
        published
    }

    /// Empties the batch being gathered: into a slot, or otherwise into the backlog. Returns whether anything was
    /// published.
    #[inline(never)]
    pub(crate) fn make_room(&self) -> bool {
        let published = self.publish();
        if !self.staged.is_empty() {
            self.leave(None);
        }
        published
    }

    /// Puts the batch being gathered into the backlog.
    fn leave(&self, value: Option<LargeValue>) {
        self.counters().backlog.add(self.staged.count() as u64);
        self.backlog.borrow_mut().push_back(Waiting { batch: self.staged.take(), value });
    }

    /// Puts the request that was pushed last into the backlog, with its arguments, which are sent before it. It is
    /// the only one of the batch being gathered, since `make_room` was called before it.
    pub(crate) fn leave_with(&self, value: LargeValue) {
        debug_assert_eq!(self.staged.count(), 1, "other requests would wait for its arguments");
        self.counters().note_large(value.bytes());
        self.leave(Some(value));
    }

    /// Whether the backlog has arguments that `publish` would send now.
    pub(crate) fn can_send_arguments(&self) -> bool {
        let first_waits = || self.backlog.borrow().front().is_some_and(|first| first.value.is_some());
        self.backlog() > 0 && self.has_free_slot() && self.fabric.has_room() && first_waits()
    }

    /// Publishes gathered batches while slots are free. Returns whether anything was published.
    #[inline]
    pub(crate) fn publish(&self) -> bool {
        let before = self.published.get();
        let sent = self.backlog() > 0 && self.publish_backlog();
        if !self.staged.is_empty() && self.has_free_slot() && self.backlog() == 0 {
            self.write(&self.staged);
            self.staged.clear();
        }
        sent || self.published.get() != before
    }

    /// Publishes the backlog while there is room. Returns whether arguments were sent.
    #[cold]
    fn publish_backlog(&self) -> bool {
        let sent = Cell::new(false);
        while self.has_free_slot() {
            let mut backlog = self.backlog.borrow_mut();
            let first = backlog.front_mut().and_then(|first| first.value.as_mut());
            if first.is_some_and(|value| value.send(&self.fabric, || sent.set(true)).is_err()) {
                break;
            }
            let Some(Waiting { batch, .. }) = backlog.pop_front() else { break };
            self.counters().backlog.subtract(batch.count() as u64);
            self.write(&batch);
        }
        sent.get()
    }

    #[inline]
    fn write(&self, batch: &RequestBatch) {
        let slots = self.slots.get();
        let slot = (self.published.get() & (slots - 1)) as usize;
        let sequence = self.published.get().wrapping_add(1);
        let (header, words) = batch.contents(sequence);
        self.notes.note_batch(sequence, header.count.into(), words.len());
        // SAFETY: L1: this client is the only writer of the request slots. L2: a slot is free, so the batch that was in
        // this one has been answered, and a trustee answers after its last look at the batch.
        unsafe { self.fabric.write(slot, header.pack(), words) };
        self.published.set(sequence);
        self.fabric.prepare((sequence & (slots - 1)) as usize, words.len());
    }

    /// Abandons unanswered requests: drops their completions, which tells the waiters. Nothing more is published, and
    /// no response is taken (K2 holds only for those).
    pub(crate) fn close(&self) {
        self.slots.set(0);
        self.answered.set(self.published.get());
        while let Some(completion) = self.completions.pop() {
            catch::contained(|| drop(completion));
        }
    }

    /// Whether a batch was published and not yet answered.
    #[inline(always)]
    pub(super) fn has_unanswered(&self) -> bool {
        self.published.get() != self.answered.get()
    }

    /// Requests in the batch being gathered.
    pub(crate) fn gathered(&self) -> usize {
        self.staged.count()
    }

    /// Batches that were published and whose answers were not taken.
    pub(crate) fn under_way(&self) -> u32 {
        self.published.get().wrapping_sub(self.answered.get())
    }

    /// Whether everything that was published has been answered. The answers may still have to be taken.
    pub(crate) fn is_idle(&self) -> bool {
        let published = self.published.get();
        let last = || Header::unpack(self.responses.header(published.wrapping_sub(1) as usize));
        !self.has_unanswered() || last().sequence == published
    }

    /// Whether a batch of responses has landed.
    pub(crate) fn has_responses(&self) -> bool {
        self.has_unanswered() && self.landed().is_some()
    }

    /// The header of the batch of responses that is next in order, if it has landed.
    #[inline(always)]
    pub(super) fn landed(&self) -> Option<Header> {
        let header = Header::unpack(self.responses.header(self.answered.get() as usize));
        (header.sequence == self.answered.get().wrapping_add(1)).then_some(header)
    }

    /// Takes the batch of responses that is next in order, if it has landed, and runs its completions. Returns
    /// whether there was one. A completion that panics has been reported by the panic hook; the others go on.
    #[inline]
    pub(crate) fn take_responses(&self) -> bool {
        if !self.has_unanswered() {
            return false;
        }
        let Some(header) = self.landed() else { return false };
        let slot = self.answered.get() as usize;
        self.responses.prefetch(slot, header.words.into());
        self.notes.note_answers(header.sequence, header.count.into(), header.words.into());
        let read = |body| {
            // SAFETY: L3: the header has the sequence awaited, so the batch is whole; it stays until `answered` moves on
            // and its slot is used for another request.
            unsafe { self.complete(body, header.count.into()) };
        };
        // SAFETY: the header was found.
        unsafe { self.responses.read(slot, read) };
        self.answered.set(header.sequence);
        true
    }

    /// Runs the completions of a batch of `count` responses.
    ///
    /// # Safety
    /// `body` is a whole response batch to the requests at the front of `completions`.
    unsafe fn complete(&self, body: *const u64, count: usize) {
        let mut failures = 0_u128;
        for word in 0..FAILURE_WORDS {
            // SAFETY: a response batch begins with the words of failures.
            failures |= u128::from(unsafe { body.wrapping_add(word).read() }) << (64 * word);
        }
        if failures != 0 {
            self.counters().failed.add(failures.count_ones().into());
        }
        let mut at = body.wrapping_add(FAILURE_WORDS);
        let mut last: (Option<&'static Kind>, usize) = (None, 0);
        let next = |index: usize, kind: &'static Kind| {
            let failed = failures != 0 && failures >> index & 1 != 0;
            // A branch, so that the processor can predict the next response's place without waiting for `words`.
            if !last.0.is_some_and(|last| std::ptr::eq(last, kind)) {
                last = (Some(kind), kind.words());
            }
            let response = at;
            at = at.wrapping_add(if failed { 1 } else { last.1 });
            Some((response, failed))
        };
        let failed = |response: *const u64, sent_from| {
            // SAFETY: `next` found it: the trustee put an error there.
            let word = unsafe { response.cast::<*mut ()>().read() };
            // SAFETY: as above, taken back once.
            report(unsafe { DelegationError::from_word(word) }, sent_from);
        };
        let _all_are_there = if failures == 0 {
            // SAFETY: K2 and the order of lanes make the first completion the one of the first response left.
            unsafe { self.complete_each::<false>(count, next, failed) }
        } else {
            // SAFETY: as above.
            unsafe { self.complete_each::<true>(count, next, failed) }
        };
    }

    /// Runs the completions of `count` responses. `next` returns the next response and whether it is a failure, or
    /// that it is missing, after which the other completions are left. `failed` takes the failures in runs. Returns
    /// whether all were there.
    ///
    /// No request of a run has failed unless `RUNS_MAY_FAIL`. That is a constant because `next` stays in registers only
    /// where no function is called with it.
    ///
    /// # Safety
    /// What `next` returns is the whole response to the first request of `completions` (C2).
    #[inline(always)]
    pub(super) unsafe fn complete_each<const RUNS_MAY_FAIL: bool>(
        &self,
        count: usize,
        mut next: impl FnMut(usize, &'static Kind) -> Option<(*const u64, bool)>,
        mut failed: impl FnMut(*const u64, &'static Location<'static>),
    ) -> bool {
        let (mut index, mut all_are_there) = (0, true);
        while index < count {
            // Only a panic of a completion, which the hook has reported, leaves this loop; it is then entered again.
            catch::contained(|| {
                while index < count {
                    let finish = |completion: *mut Completion| {
                        // SAFETY: the ring gave the address of a completion that nothing else uses.
                        let first = unsafe { &mut *completion };
                        let kind = first.kind();
                        if let Some(&mut run) = first.run() {
                            if RUNS_MAY_FAIL {
                                all_are_there = take_failures(run, kind, index, &mut next, &mut failed);
                            }
                            index += run.requests;
                            return;
                        }
                        let response = next(index, kind);
                        index += 1;
                        match response {
                            // SAFETY: guaranteed by the caller. It is moved off the ring before anything is pushed.
                            Some((response, failed)) => unsafe {
                                Completion::finish(completion, response, failed);
                            },
                            // The completion is leaked: its request may still be served.
                            None => all_are_there = false,
                        }
                    };
                    // SAFETY: `finish` uses the completion up, or leaks it.
                    if unsafe { self.completions.pop_in_place(finish) }.is_none() || !all_are_there {
                        (index, all_are_there) = (count, false);
                    }
                }
            });
        }
        // Another process may have answered only a part of a run.
        all_are_there && index == count
    }
}
