//! A batch under construction, in its writer's own memory.
//!
//! A batch is composed here and then written into the peer's slot in one go, so that the lines of the slot are
//! not pulled back and forth by the peer's polling while the batch grows, and so that every fabric sends alike.

use crate::lane::operation::{Delegated, Operation};
use crate::lane::payload;
use crate::wire::batch::{BODY_WORDS, Header, failure_words};
use crate::wire::request::RequestHeader;
use crate::wire::word::Word;
use std::cell::{Cell, UnsafeCell};
use std::panic::Location;

/// Batches in a row that would have fitted slots of the usual size, after which the memory for larger ones goes back.
const SMALL_ONES: u32 = 64;

/// Requests that wait to be published together. Used by one thread; no user code runs while it is borrowed.
pub(crate) struct RequestBatch {
    /// For as much as slots of the usual size hold. The compiler knows that size: loading it would cost callbacks
    /// inside a process a tenth.
    near: UnsafeCell<[Word; BODY_WORDS]>,
    /// Used instead for larger slots, from the first batch that needs it.
    far: UnsafeCell<Option<Box<[Word]>>>,
    /// Words of a slot's body, for requests and for responses.
    room: usize,
    /// Batches since one needed `far`.
    small: Cell<u32>,
    used: Cell<usize>,
    count: Cell<usize>,
    /// The most words that the responses will take: the failures, and at least one word each.
    answer: Cell<usize>,
    /// The run that was pushed last.
    run: Cell<LastRun>,
}

/// The run that was pushed last to a batch.
#[derive(Clone, Copy)]
struct LastRun {
    /// Words of the batch up to its end. None if it was not pushed to this batch: an empty one has no request.
    end: usize,
    /// Where its number of requests is.
    number: usize,
    header: u64,
    sent_from: *const Location<'static>,
}

impl LastRun {
    const NONE: Self = Self { end: 0, number: 0, header: 0, sent_from: std::ptr::null() };
}

impl RequestBatch {
    /// An empty batch for slots of this many words.
    pub(crate) fn new(room: usize) -> Self {
        Self {
            near: UnsafeCell::new([Word::new(0); BODY_WORDS]),
            far: UnsafeCell::new(None),
            room,
            small: Cell::new(0),
            used: Cell::new(0),
            count: Cell::new(0),
            answer: Cell::new(failure_words(room)),
            run: Cell::new(LastRun::NONE),
        }
    }

    /// The address of the words, and how many there is room for.
    #[inline(always)]
    fn place(&self) -> (*mut Word, usize) {
        // SAFETY: one thread, and no reference to it is still alive (see above).
        match unsafe { &mut *self.far.get() } {
            None => (self.near.get().cast(), BODY_WORDS),
            Some(far) => (far.as_mut_ptr(), far.len()),
        }
    }

    /// Makes room for as much as a slot holds.
    #[cold]
    #[inline(never)]
    fn grow(&self) {
        let mut far: Box<[Word]> = vec![Word::new(0); self.room].into();
        let words = self.words();
        far[..words.len()].copy_from_slice(words);
        // SAFETY: one thread, and no reference to it is still alive.
        unsafe { *self.far.get() = Some(far) };
    }

    /// A batch had room in `near`, though there is `far`.
    #[cold]
    fn shrink(&self) {
        let small = self.small.get() + 1;
        self.small.set(small % SMALL_ONES);
        if small == SMALL_ONES {
            // SAFETY: as in `grow`. The batch is empty.
            unsafe { *self.far.get() = None };
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count.get() == 0
    }

    pub(crate) fn count(&self) -> usize {
        self.count.get()
    }

    /// Empties this batch into a new one.
    pub(crate) fn take(&self) -> Box<Self> {
        let taken = Box::new(Self::new(self.room));
        let words = self.words();
        if words.len() > BODY_WORDS {
            taken.grow();
        }
        // SAFETY: the new memory has room for as many words, and nothing else uses it yet.
        unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), taken.place().0, words.len()) };
        taken.used.set(self.used.get());
        taken.count.set(self.count.get());
        self.clear();
        taken
    }

    pub(crate) fn clear(&self) {
        let used = self.used.replace(0);
        self.count.set(0);
        self.answer.set(failure_words(self.room));
        self.run.set(LastRun::NONE);
        if self.place().1 > BODY_WORDS {
            if used > BODY_WORDS {
                self.small.set(0);
            } else {
                self.shrink();
            }
        }
    }

    /// The words in use.
    fn words(&self) -> &[Word] {
        // SAFETY: this many words are in use. Only `push` writes, and it does not run while the reference lives: there
        // is one thread, and no user code runs.
        unsafe { std::slice::from_raw_parts(self.place().0, self.used.get()) }
    }

    /// Whether one more request of this operation, and its response, have room. For lanes inside a process.
    #[inline(always)]
    pub(crate) fn fits(&self, operation: &Operation) -> bool {
        self.used.get() + operation.step() <= BODY_WORDS
            && self.answer.get() + operation.result().max(1) <= BODY_WORDS
    }

    /// Adds a request. For lanes inside a process.
    ///
    /// # Safety
    /// It fits.
    #[inline(always)]
    pub(crate) unsafe fn push<T, C, U>(&self, delegated: Delegated<T, C, U>, property: u32, arguments: C) {
        let operation = delegated.operation();
        debug_assert!(self.fits(operation) && self.room == BODY_WORDS);
        let used = self.used.get();
        let start = self.near.get().cast::<u64>().wrapping_add(used);
        let header = RequestHeader { property, operation: delegated.identity() };
        // SAFETY: `fits`: there is room for the header and the words of the arguments, which are of type `C`.
        unsafe { start.write(header.pack()) };
        // SAFETY: as above.
        unsafe { payload::write(start.wrapping_add(1), arguments) };
        self.used.set(used + operation.step());
        self.count.set(self.count.get() + 1);
        self.answer.set(self.answer.get() + operation.result().max(1));
    }

    /// Whether a run of this operation may begin here.
    #[inline(always)]
    pub(crate) fn fits_run(&self, operation: &Operation) -> bool {
        self.used.get() + 1 + operation.step() <= BODY_WORDS && self.answer.get() < BODY_WORDS
    }

    /// Whether the last request is of a run that one more of the same kind fits, in slots of this many words.
    #[inline(always)]
    pub(super) fn continues(
        &self,
        header: RequestHeader,
        words: usize,
        sent_from: &'static Location<'static>,
        room: usize,
    ) -> bool {
        let (run, used) = (self.run.get(), self.used.get());
        run.end == used
            && run.header == header.pack()
            && std::ptr::eq(run.sent_from, sent_from)
            && used != 0
            && used + words <= room
            && self.answer.get() < room
    }

    /// Begins a run of requests, with one. For lanes inside a process.
    ///
    /// # Safety
    /// It fits: `fits_run`.
    #[inline(always)]
    pub(crate) unsafe fn push_run<C>(
        &self,
        header: RequestHeader,
        arguments: C,
        sent_from: &'static Location<'static>,
    ) {
        let used = self.used.get();
        let start = self.near.get().cast::<u64>().wrapping_add(used);
        // SAFETY: `fits_run`: there is room for the header, the number and the words of the arguments.
        unsafe { start.write(header.pack()) };
        // SAFETY: as above.
        unsafe { start.wrapping_add(1).write(0) };
        let run = LastRun { end: used + 2, number: used + 1, header: header.pack(), sent_from };
        self.run.set(run);
        // SAFETY: the run is the last request now, and there is room for these arguments.
        unsafe { self.push_next(arguments) };
    }

    /// Adds a request to the run. For lanes inside a process.
    ///
    /// # Safety
    /// `continues`: there is a run at the end, whose requests have arguments of type `C`, and there is room.
    #[inline(always)]
    pub(crate) unsafe fn push_next<C>(&self, arguments: C) {
        debug_assert_eq!(self.room, BODY_WORDS);
        let words = self.near.get().cast::<u64>();
        // SAFETY: guaranteed by the caller.
        unsafe { payload::write(words.wrapping_add(self.run.get().end), arguments) };
        // SAFETY: as above.
        unsafe { self.count_next(words, payload::words::<C>().into()) };
    }

    /// Counts a request whose arguments were added to the run, in these words of the batch.
    ///
    /// # Safety
    /// As for `push_next`.
    #[inline(always)]
    unsafe fn count_next(&self, batch: *mut u64, words: usize) {
        let run = self.run.get();
        // SAFETY: guaranteed by the caller: the number of a run is in this batch, before `end`. Nothing refers to it.
        let number = unsafe { &mut *batch.wrapping_add(run.number) };
        *number += 1;
        let end = run.end + words;
        self.run.set(LastRun { end, ..run });
        self.used.set(end);
        self.count.set(self.count.get() + 1);
        self.answer.set(self.answer.get() + 1);
    }

    /// Whether a request of this many words in all, and its response, have room.
    #[inline(always)]
    pub(super) fn has_room(&self, request: usize, answer: usize) -> bool {
        self.used.get() + request <= self.room && self.answer.get() + answer <= self.room
    }

    /// Adds a request whose arguments `write` moves to their final place.
    ///
    /// # Safety
    /// It has room: `has_room`, for the words that `write` makes and one for the header.
    #[inline(always)]
    pub(super) unsafe fn push_written(
        &self,
        header: RequestHeader,
        (words, answer): (usize, usize),
        write: impl FnOnce(&mut [Word]),
    ) {
        let used = self.used.get();
        if used + 1 + words > self.place().1 {
            self.grow();
        }
        let start = self.place().0.wrapping_add(used);
        // SAFETY: guaranteed by the caller: there is room for the header.
        unsafe { start.write(Word::new(header.pack())) };
        // SAFETY: guaranteed by the caller: there is room for this many words after it. There is no other reference to
        // them: one thread, and `write` runs no code of the program.
        write(unsafe { std::slice::from_raw_parts_mut(start.wrapping_add(1), words) });
        self.used.set(used + 1 + words);
        self.count.set(self.count.get() + 1);
        self.answer.set(self.answer.get() + answer);
    }

    /// Begins a run of requests, with one.
    ///
    /// # Safety
    /// Like `push_written`; the number of the run takes one more word.
    #[inline(always)]
    pub(super) unsafe fn push_run_written(
        &self,
        header: RequestHeader,
        sent_from: &'static Location<'static>,
        words: usize,
        write: impl FnOnce(&mut [Word]),
    ) {
        let used = self.used.get();
        if used + 2 + words > self.place().1 {
            self.grow();
        }
        let start = self.place().0.wrapping_add(used);
        // SAFETY: guaranteed by the caller: there is room for the header and the number.
        unsafe { start.cast::<[Word; 2]>().write([Word::new(header.pack()), Word::new(0)]) };
        self.run.set(LastRun { end: used + 2, number: used + 1, header: header.pack(), sent_from });
        // SAFETY: guaranteed by the caller: there is room for these arguments behind the run.
        unsafe { self.push_next_written(words, write) };
    }

    /// Adds a request to the run, whose arguments `write` moves to their final place.
    ///
    /// # Safety
    /// `continues`: there is a run at the end, whose requests have arguments of so many words, and there is room.
    #[inline(always)]
    pub(super) unsafe fn push_next_written(&self, words: usize, write: impl FnOnce(&mut [Word])) {
        let end = self.run.get().end;
        if end + words > self.place().1 {
            self.grow();
        }
        let place = self.place().0;
        // SAFETY: guaranteed by the caller: there is room for this many words. There is no other reference to them: one
        // thread, and `write` runs no code of the program.
        write(unsafe { std::slice::from_raw_parts_mut(place.wrapping_add(end), words) });
        // SAFETY: guaranteed by the caller. A number is a word that `push_run_written` has written.
        unsafe { self.count_next(place.cast(), words) };
    }

    /// The header and the words in use.
    #[inline]
    pub(crate) fn contents(&self, sequence: u32) -> (Header, &[Word]) {
        let (count, used) = (self.count.get(), self.used.get());
        (Header { sequence, count: count as u16, words: used as u16 }, self.words())
    }
}
