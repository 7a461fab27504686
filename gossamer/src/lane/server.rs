//! The serving end of a lane: takes whole batches of requests, applies them, answers them as one.
//!
//! Invariant V1: a server is used by the trustee's thread only, and `serve` is not entered twice (delegated
//! closures do not suspend, and what a fiber does while it unwinds is not nested in `serve`).

use crate::counters::lane::ServedCounters;
use crate::fabric::{Fabric, SlotMemory};
use crate::lane::catch::{self, Caught};
use crate::lane::context;
use crate::lane::error::{DelegationError, Reason};
use crate::lane::operation::Operation;
use crate::lane::property::Properties;
use crate::wire::batch::{FAILURE_WORDS, Header};
use crate::wire::request::RequestHeader;
use crate::wire::word::Word;
use std::sync::Arc;

/// The end of a lane that serves requests.
pub(crate) struct Server<F> {
    /// Our request slots.
    pub(super) requests: Arc<SlotMemory>,
    /// Writes the response slots, which are in the client's memory.
    pub(super) fabric: F,
    /// Batches served, wrapping.
    pub(super) served: u32,
    pub(super) counters: Arc<ServedCounters>,
    /// Where responses are gathered, inside a process.
    answer: Box<[Word]>,
}

impl<F: Fabric> Server<F> {
    /// A server for a client of this process.
    pub(crate) fn new(requests: Arc<SlotMemory>, fabric: F) -> Self {
        let answer = vec![Word::new(0); requests.words()].into();
        Self { answer, ..Self::of_another_process(requests, fabric) }
    }

    /// A server for a client of another process (`serve_encoded`).
    pub(crate) fn of_another_process(requests: Arc<SlotMemory>, fabric: F) -> Self {
        Self { requests, fabric, served: 0, counters: Arc::default(), answer: Box::default() }
    }

    /// Batches that may wait.
    #[inline(always)]
    pub(crate) fn slots(&self) -> u32 {
        self.requests.slots()
    }

    /// The slot of the next batch, and of its response.
    #[inline(always)]
    pub(super) fn slot(&self) -> usize {
        (self.served & (self.requests.slots() - 1)) as usize
    }

    pub(crate) fn counters(&self) -> &Arc<ServedCounters> {
        &self.counters
    }

    /// The number of the next batch to serve.
    #[inline(always)]
    pub(crate) fn next_sequence(&self) -> u32 {
        self.served.wrapping_add(1)
    }

    /// Requests of the batch that waits to be served, if one does.
    #[inline]
    pub(crate) fn waiting(&self) -> Option<u16> {
        let header = Header::unpack(self.requests.header(self.slot()));
        (header.sequence == self.next_sequence()).then_some(header.count)
    }

    /// Whether a batch waits to be served.
    #[inline]
    pub(crate) fn has_requests(&self) -> bool {
        self.waiting().is_some()
    }

    /// Serves one batch, if one waits, and answers it. Returns whether there was one. `worker` is the index of the
    /// trustee, for reports.
    #[inline]
    pub(crate) fn serve(&mut self, properties: &Properties, worker: u32) -> bool {
        let slot = self.slot();
        let sequence = self.served.wrapping_add(1);
        let header = Header::unpack(self.requests.header(slot));
        if header.sequence != sequence {
            return false;
        }
        let (count, words) = (usize::from(header.count), usize::from(header.words));
        self.requests.prefetch(slot, words);
        self.fabric.prepare(slot, count);
        let mut batch = ServedBatch {
            at: std::ptr::null(),
            answer: &mut self.answer,
            used: FAILURE_WORDS,
            failures: 0,
            index: 0,
        };
        let read = |body| {
            batch.at = body;
            if properties.outgrow_the_cache() {
                // SAFETY: as below.
                unsafe { batch.announce(count, |property| properties.prefetch_entry(property)) };
                // SAFETY: as below.
                unsafe { batch.announce(count, |property| properties.prefetch(property)) };
            }
            // SAFETY: L3: the header has the sequence awaited, so the batch is whole; it stays until it is answered below. Its client
            // is a worker of this runtime, in this process and of this very image (P1), which moved the arguments in: lanes of other
            // processes are served by `serve_encoded`.
            unsafe { batch.whole_batch(count, properties, worker) };
        };
        // SAFETY: the header was found.
        unsafe { self.requests.read(slot, read) };
        let (used, failures) = (batch.used, batch.failures);
        for (index, word) in self.answer.iter_mut().take(FAILURE_WORDS).enumerate() {
            word.write((failures >> (64 * index)) as u64);
        }
        let header = Header { sequence, count: header.count, words: used as u16 };
        // SAFETY: L1: this server is the only writer of the response slots. L4: the client reused this request slot,
        // so it is done with the response that was in this slot before.
        unsafe { self.fabric.write(slot, header.pack(), &self.answer[..used]) };
        self.served = sequence;
        self.counters.note_batch(count, words, used);
        if failures != 0 {
            self.counters.failed.add(failures.count_ones().into());
        }
        true
    }
}

/// A batch being served: what must survive the panic of one of its closures.
struct ServedBatch<'a> {
    at: *const u64,
    answer: &'a mut [Word],
    used: usize,
    failures: u128,
    index: usize,
}

impl ServedBatch<'_> {
    /// Calls `hint` with the property of each request of a batch: the memory of all of them is fetched at once, not one
    /// after another.
    ///
    /// # Safety
    /// Like `whole_batch`.
    #[cold]
    unsafe fn announce(&self, count: usize, hint: impl Fn(u32)) {
        let mut at = self.at;
        for _ in 0..count {
            // SAFETY: the caller's, and each request advances `at` by its own size.
            let header = RequestHeader::unpack(unsafe { at.read() });
            hint(header.property);
            // SAFETY: P1, as in `current`.
            at = at.wrapping_add(unsafe { Operation::at(header.operation) }.step());
        }
    }

    /// Serves requests until none is left; one that panics is answered with its error, and the next goes on.
    ///
    /// # Safety
    /// `at` is the start of a whole batch of `count` requests, whose arguments were not read.
    #[inline(always)]
    unsafe fn whole_batch(&mut self, count: usize, properties: &Properties, worker: u32) {
        while self.index < count {
            // SAFETY: the caller's, and each request advances `at` by its own size.
            let outcome = catch::delegated(|| unsafe { self.until_panic(count, properties) });
            let (operation, reason) = match outcome {
                Ok(None) => return,
                Ok(Some(operation)) => {
                    // SAFETY: `at` is at this request, whose arguments were not read.
                    catch::contained(|| unsafe { operation.discard(self.at.wrapping_add(1)) });
                    (operation, Reason::Ended)
                }
                Err(Caught { message, place }) => {
                    // SAFETY: `at` is at the request that panicked.
                    (unsafe { self.current() }.1, Reason::Panicked { message, place })
                }
            };
            self.fail(operation, reason, worker);
        }
    }

    /// # Safety
    /// `at` is at a request of a whole batch.
    #[inline(always)]
    unsafe fn header(&self) -> RequestHeader {
        // SAFETY: guaranteed by the caller.
        RequestHeader::unpack(unsafe { self.at.read() })
    }

    /// # Safety
    /// Like `header`.
    #[inline(always)]
    unsafe fn current(&self) -> (RequestHeader, &'static Operation) {
        // SAFETY: guaranteed by the caller.
        let header = unsafe { self.header() };
        // SAFETY: P1: clients push only identities made by `Delegated::identity`, and this is the same image.
        (header, unsafe { Operation::at(header.operation) })
    }

    /// Serves requests until one panics (unwinding out of here, `at` still on it), the batch ends (`None`), or a
    /// request is for a property that is gone (its operation).
    ///
    /// # Safety
    /// Like `whole_batch`.
    #[inline(always)]
    unsafe fn until_panic(&mut self, count: usize, properties: &Properties) -> Option<&'static Operation> {
        if self.index == count {
            return None;
        }
        // SAFETY: the caller's: a request is left.
        let (first, mut operation) = unsafe { self.current() };
        let (mut identity, mut step, mut result) = (first.operation, operation.step(), operation.result());
        context::note_served(operation);
        while self.index < count {
            // SAFETY: guaranteed by the caller.
            let header = unsafe { self.header() };
            // Most requests of a batch are alike. The branch lets the processor guess where the next request begins;
            // through the operation in memory it would have to wait for that.
            if header.operation != identity {
                // SAFETY: as in `current`.
                operation = unsafe { Operation::at(header.operation) };
                (identity, step, result) = (header.operation, operation.step(), operation.result());
                context::note_served(operation);
            }
            let Some(property) = properties.get(header.property) else { return Some(operation) };
            let answer = self.answer.as_mut_ptr().wrapping_add(self.used).cast();
            // SAFETY: the sender vouched that the property has the operation's type (`Client::push`), and R3 that
            // nothing else refers to it. The arguments follow the header, unread. The client counted the words of all
            // results before it closed the batch (`RequestBatch::fits`), so the result has room.
            unsafe { operation.run(property, self.at.wrapping_add(1), answer) };
            self.advance(step, result);
        }
        None
    }

    #[inline(always)]
    fn advance(&mut self, step: usize, result: usize) {
        self.at = self.at.wrapping_add(step);
        self.used += result;
        self.index += 1;
    }

    #[cold]
    fn fail(&mut self, operation: &'static Operation, reason: Reason, worker: u32) {
        let error = DelegationError::new(reason, operation.name(), worker);
        self.answer[self.used].write(error.into_word().expose_provenance() as u64);
        self.failures |= 1 << self.index;
        self.advance(operation.step(), 1);
    }
}
