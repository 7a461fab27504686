//! A batch under construction, in memory of its writer's own.
//!
//! A batch is composed here and then written into the peer's slot in one go, so that the lines of the slot are
//! not pulled back and forth by the peer's polling while the batch grows, and so that every fabric sends alike.

use crate::lane::operation::{Delegated, Operation};
use crate::lane::payload;
use crate::wire::batch::{BODY_WORDS, FAILURE_WORDS, Header};
use crate::wire::request::RequestHeader;
use std::cell::{Cell, UnsafeCell};

/// Requests that wait to be published together. Used by one thread; no user code runs while it is borrowed.
pub(crate) struct RequestBatch {
    words: UnsafeCell<[u64; BODY_WORDS]>,
    used: Cell<usize>,
    count: Cell<usize>,
    /// Words the responses will take at the most: the failures, and at least one word each.
    answer: Cell<usize>,
}

impl RequestBatch {
    pub(crate) fn new() -> Self {
        Self {
            words: UnsafeCell::new([0; BODY_WORDS]),
            used: Cell::new(0),
            count: Cell::new(0),
            answer: Cell::new(FAILURE_WORDS),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    /// Empties this batch into one of its own.
    pub(crate) fn take(&self) -> Box<Self> {
        let taken = Box::new(Self {
            words: UnsafeCell::new(self.words().to_owned()),
            used: self.used.clone(),
            count: self.count.clone(),
            answer: self.answer.clone(),
        });
        self.clear();
        taken
    }

    pub(crate) fn clear(&self) {
        self.used.set(0);
        self.count.set(0);
        self.answer.set(FAILURE_WORDS);
    }

    fn words(&self) -> &[u64; BODY_WORDS] {
        // SAFETY: only `push` writes, and it does not run while the reference lives: one thread, no user code.
        unsafe { &*self.words.get() }
    }

    /// Whether one more request of this operation, and its response, have room.
    #[inline(always)]
    pub(crate) fn fits(&self, operation: &Operation) -> bool {
        self.used.get() + operation.step() <= BODY_WORDS
            && self.answer.get() + operation.result().max(1) <= BODY_WORDS
    }

    /// Adds a request.
    ///
    /// # Safety
    /// It fits.
    #[inline(always)]
    pub(crate) unsafe fn push<T, C, U>(&self, delegated: Delegated<T, C, U>, property: u32, arguments: C) {
        let operation = delegated.operation();
        debug_assert!(self.fits(operation));
        let used = self.used.get();
        let start = self.words.get().cast::<u64>().wrapping_add(used);
        let header = RequestHeader { property, operation: delegated.identity() };
        // SAFETY: `fits`: there is room for the header and the words of the arguments, which are of type `C`.
        unsafe { start.write(header.pack()) };
        // SAFETY: as above.
        unsafe { payload::write(start.wrapping_add(1), arguments) };
        self.used.set(used + operation.step());
        self.count.set(self.count.get() + 1);
        self.answer.set(self.answer.get() + operation.result().max(1));
    }

    /// Whether a request of so many words in all, and its response, have room.
    #[inline(always)]
    pub(super) fn has_room(&self, request: usize, answer: usize) -> bool {
        self.used.get() + request <= BODY_WORDS && self.answer.get() + answer <= BODY_WORDS
    }

    /// Adds a request whose arguments `write` moves to where they will lie.
    ///
    /// # Safety
    /// It has room: `has_room`, with the words that `write` makes and one for the header.
    #[inline(always)]
    pub(super) unsafe fn push_written(
        &self,
        header: RequestHeader,
        (words, answer): (usize, usize),
        write: impl FnOnce(*mut u64),
    ) {
        let used = self.used.get();
        let start = self.words.get().cast::<u64>().wrapping_add(used);
        // SAFETY: the caller's: there is room for the header.
        unsafe { start.write(header.pack()) };
        write(start.wrapping_add(1));
        self.used.set(used + 1 + words);
        self.count.set(self.count.get() + 1);
        self.answer.set(self.answer.get() + answer);
    }

    /// The header and the words in use.
    #[inline]
    pub(crate) fn contents(&self, sequence: u32) -> (Header, &[u64]) {
        let (count, used) = (self.count.get(), self.used.get());
        (Header { sequence, count: count as u16, words: used as u16 }, &self.words()[..used])
    }
}
