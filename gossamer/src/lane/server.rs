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
use std::cell::Cell;
use std::sync::Arc;

/// What no operation has for its identity.
const NO_IDENTITY: i64 = i64::MAX;

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
            run: RunBeingServed::default(),
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
    run: RunBeingServed,
}

/// The run that `at` is in, if requests of it are left: `at` is then at the arguments of the first of them.
#[derive(Default)]
struct RunBeingServed {
    operation: i32,
    property: u32,
    left: usize,
    /// Of those left, the ones that have been served.
    served: Cell<usize>,
}

impl ServedBatch<'_> {
    /// Calls `hint` with the property of each request of a batch: the memory of all of them is fetched at once, not one
    /// after another.
    ///
    /// # Safety
    /// Like `whole_batch`.
    #[cold]
    unsafe fn announce(&self, count: usize, hint: impl Fn(u32)) {
        let (mut at, mut index) = (self.at, 0);
        while index < count {
            // SAFETY: the caller's, and each request, or run, advances `at` by its own size.
            let header = RequestHeader::unpack(unsafe { at.read() });
            hint(header.property);
            // SAFETY: P1, as in `current`.
            let operation = unsafe { Operation::at(header.operation) };
            let (requests, words) = if operation.many().is_some() {
                // SAFETY: the number of a run follows its header.
                let requests = unsafe { at.wrapping_add(1).read() } as usize;
                (requests, 2 + requests * operation.arguments())
            } else {
                (1, operation.step())
            };
            (at, index) = (at.wrapping_add(words), index + requests);
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
                    let arguments = self.at.wrapping_add(usize::from(self.run.left == 0));
                    // SAFETY: `at` is at this request, or in a run at its arguments, which were not read.
                    catch::contained(|| unsafe { operation.discard(arguments) });
                    (operation, Reason::Ended)
                }
                Err(Caught { message, place }) => {
                    // SAFETY: `at` is at the request that panicked, or it is in a run.
                    (unsafe { self.panicked() }, Reason::Panicked { message, place })
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

    /// The operation of the request that has panicked.
    ///
    /// # Safety
    /// `at` is at it, or in the run that it is in.
    #[cold]
    unsafe fn panicked(&mut self) -> &'static Operation {
        if self.run.left == 0 {
            // SAFETY: guaranteed by the caller.
            return unsafe { self.current() }.1;
        }
        // SAFETY: P1, as in `current`.
        let operation = unsafe { Operation::at(self.run.operation) };
        self.leave_served(operation);
        operation
    }

    /// Goes past those requests of the run that have been served.
    #[inline(always)]
    fn leave_served(&mut self, operation: &Operation) {
        let served = self.run.served.replace(0);
        self.run.left -= served;
        self.index += served;
        self.at = self.at.wrapping_add(served * operation.arguments());
    }

    /// Serves what is left of a run, as `until_panic` does.
    ///
    /// # Safety
    /// Like `whole_batch`. `at` is in a run.
    #[inline(always)]
    unsafe fn rest_of_run(&mut self, properties: &Properties) -> Option<&'static Operation> {
        // SAFETY: P1, as in `current`.
        let operation = unsafe { Operation::at(self.run.operation) };
        let (Some(property), Some(many)) = (properties.get(self.run.property), operation.many()) else {
            return Some(operation);
        };
        // SAFETY: as for `operation.run` in `until_panic`. The arguments of those left are at `at`, unread. Their results
        // take no words.
        unsafe { many(property, self.at, self.run.left, &self.run.served) };
        self.leave_served(operation);
        None
    }

    /// Serves requests until one panics (unwinding out of here, `at` still on it), the batch ends (`None`), or a
    /// request is for a property that is gone (its operation).
    ///
    /// # Safety
    /// Like `whole_batch`.
    #[inline(always)]
    unsafe fn until_panic(&mut self, count: usize, properties: &Properties) -> Option<&'static Operation> {
        if self.run.left > 0 {
            // SAFETY: guaranteed by the caller.
            if let Some(operation) = unsafe { self.rest_of_run(properties) } {
                return Some(operation);
            }
        }
        if self.index == count {
            return None;
        }
        // SAFETY: the caller's: a request is left.
        let mut operation = unsafe { self.current() }.1;
        // No identity yet, nor after a run.
        let (mut identity, mut step, mut result) = (NO_IDENTITY, 0, 0);
        while self.index < count {
            // SAFETY: guaranteed by the caller.
            let header = unsafe { self.header() };
            // Most requests of a batch are alike. The branch lets the processor guess where the next request begins;
            // through the operation in memory it would have to wait for that.
            if i64::from(header.operation) != identity {
                // SAFETY: as in `current`.
                operation = unsafe { Operation::at(header.operation) };
                (identity, step, result) = (header.operation.into(), operation.step(), operation.result());
                context::note_served(operation);
                if operation.many().is_some() {
                    // SAFETY: the number of a run follows its header.
                    let left = unsafe { self.at.wrapping_add(1).read() } as usize;
                    let RequestHeader { property, operation } = header;
                    self.run = RunBeingServed { operation, property, left, served: Cell::new(0) };
                    self.at = self.at.wrapping_add(2);
                    // SAFETY: guaranteed by the caller.
                    if let Some(operation) = unsafe { self.rest_of_run(properties) } {
                        return Some(operation);
                    }
                    identity = NO_IDENTITY;
                    continue;
                }
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
        let step = if self.run.left > 0 { operation.arguments() } else { operation.step() };
        self.run.left = self.run.left.saturating_sub(1);
        self.advance(step, 1);
    }
}
