//! What to do with a response: a closure kept by the sender, inline if it is small.
//!
//! Invariants
//! - C1: `environment` holds an unused closure (or the address of its box) of the type `call` was made for,
//!   until `call` is called once.
//! - C2: a completion is matched with the response to the same request that it was pushed with (lanes are in order),
//!   so the response holds a value of the type the completion was made for.
//! - C3: completions of the kind `RUN` hold a `Run`, inline, and no others do.

use crate::lane::encoded::{self, Unanswered};
use crate::lane::error::DelegationError;
use crate::lane::payload;
use crate::wire::NoRef;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::Location;

/// Closures up to this size need no box.
type Environment = [MaybeUninit<usize>; 3];

/// How a request ended.
#[derive(Clone, Copy)]
enum Status {
    /// The response words hold the result.
    Value,
    /// The response word holds a `DelegationError`.
    Failed,
    /// There will be no response: drop the closure, which tells the waiter.
    Abandoned,
}

/// What all completions of one type have in common.
pub(crate) struct Kind {
    call: unsafe fn(*mut Environment, *const u64, Status),
    words: u16,
}

impl Kind {
    /// Words of the response to a request that did not fail.
    #[inline(always)]
    pub(crate) fn words(&self) -> usize {
        self.words.into()
    }
}

struct KindOf<U, R>(PhantomData<(U, R)>);

impl<U, R: FnOnce(Result<U, DelegationError>)> KindOf<U, R> {
    const KIND: Kind = Kind { call: call::<U, R>, words: payload::words::<U>() };
}

struct EncodedKindOf<U, R>(PhantomData<(U, R)>);

impl<U: NoRef, R: FnOnce(Result<U, Unanswered>)> EncodedKindOf<U, R> {
    const KIND: Kind = Kind { call: call_encoded::<U, R>, words: encoded::words::<U>() };
}

/// What the completions of runs have in common.
static RUN: Kind = Kind { call: forget, words: 0 };

/// What is done with the answers to a run of requests: errors are reported.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    pub(crate) requests: usize,
    pub(crate) sent_from: &'static Location<'static>,
}

/// The continuation of one request, or of a run.
pub(crate) struct Completion {
    kind: &'static Kind,
    environment: Environment,
}

impl Completion {
    /// Keeps `then` for the response of a request with a result of type `U`, at `place`. Written field by field: a
    /// completion that is made elsewhere and moved there is read back in wider words than it was written in, which
    /// stalls the processor for longer than the rest of a request takes.
    ///
    /// # Safety
    /// `place` is writable.
    #[inline(always)]
    pub(crate) unsafe fn write<U, R: FnOnce(Result<U, DelegationError>) + 'static>(
        place: *mut Self,
        then: R,
    ) {
        // SAFETY: guaranteed by the caller; the kind is that of `R`.
        unsafe { Self::write_as(place, const { &KindOf::<U, R>::KIND }, then) };
    }

    /// Like `write`, for a response of another process.
    ///
    /// # Safety
    /// `place` is writable.
    #[inline(always)]
    pub(crate) unsafe fn write_encoded<U: NoRef, R: FnOnce(Result<U, Unanswered>) + 'static>(
        place: *mut Self,
        then: R,
    ) {
        // SAFETY: guaranteed by the caller; the kind is that of `R`.
        unsafe { Self::write_as(place, const { &EncodedKindOf::<U, R>::KIND }, then) };
    }

    /// Makes the completion of a run of one request, at `place`.
    ///
    /// # Safety
    /// `place` is writable.
    #[inline(always)]
    pub(crate) unsafe fn write_run(place: *mut Self, sent_from: &'static Location<'static>) {
        // SAFETY: guaranteed by the caller; completions of this kind hold a `Run` (C3).
        unsafe { Self::write_as(place, &RUN, Run { requests: 1, sent_from }) };
    }

    /// The run whose completion this is, if it is one.
    #[inline(always)]
    pub(crate) fn run(&mut self) -> Option<&mut Run> {
        // SAFETY: C3: a `Run` is there, and the reference borrows the completion.
        std::ptr::eq(self.kind, &raw const RUN).then(|| unsafe { &mut *self.environment.as_mut_ptr().cast() })
    }

    /// # Safety
    /// `place` is writable, and `kind` made for `R`.
    #[inline(always)]
    unsafe fn write_as<R>(place: *mut Self, kind: &'static Kind, then: R) {
        // SAFETY: guaranteed by the caller.
        let its_kind = unsafe { &raw mut (*place).kind };
        // SAFETY: guaranteed by the caller.
        unsafe { its_kind.write(kind) };
        // SAFETY: guaranteed by the caller.
        let environment = unsafe { &raw mut (*place).environment };
        if fits_inline::<R>() {
            // SAFETY: size and alignment fit (checked); the place is the caller's.
            unsafe { environment.cast::<R>().write(then) };
        } else {
            let address = Box::into_raw(Box::new(then)).expose_provenance();
            // SAFETY: as above.
            unsafe { environment.cast::<usize>().write(address) };
        }
    }

    /// Passes the response at `response` to the completion at `this`, which is used up. The closure is moved off
    /// its place before it runs.
    ///
    /// # Safety
    /// `this` is a completion that nothing uses afterwards; C2.
    #[inline(always)]
    pub(crate) unsafe fn finish(this: *mut Self, response: *const u64, failed: bool) {
        let status = if failed { Status::Failed } else { Status::Value };
        // SAFETY: guaranteed by the caller.
        let kind = unsafe { (*this).kind };
        // SAFETY: guaranteed by the caller.
        let environment = unsafe { &raw mut (*this).environment };
        // SAFETY: C1: nothing uses the completion afterwards, so this is the one call; C2 is guaranteed by the caller.
        unsafe { (kind.call)(environment, response, status) };
    }

    /// What all completions of its type have in common.
    #[inline(always)]
    pub(crate) fn kind(&self) -> &'static Kind {
        self.kind
    }
}

impl Drop for Completion {
    fn drop(&mut self) {
        // SAFETY: C1: `finish` does not drop, so the closure is unused.
        unsafe { (self.kind.call)(&mut self.environment, std::ptr::null(), Status::Abandoned) };
    }
}

/// Drops the completion of a run, which holds nothing.
///
/// # Safety
/// None is needed: it does nothing.
unsafe fn forget(_run: *mut Environment, _response: *const u64, _status: Status) {}

const fn fits_inline<R>() -> bool {
    size_of::<R>() <= size_of::<Environment>() && align_of::<R>() <= align_of::<Environment>()
}

/// # Safety
/// C1; and C2 unless abandoned.
unsafe fn call<U, R: FnOnce(Result<U, DelegationError>)>(
    environment: *mut Environment,
    response: *const u64,
    status: Status,
) {
    // SAFETY: C1.
    let then = unsafe { take::<R>(environment) };
    match status {
        // SAFETY: C2: the trustee moved a `U` there, and it is read once.
        Status::Value => then(Ok(unsafe { payload::read::<U>(response) })),
        Status::Failed => {
            // SAFETY: C2: the trustee put an error there.
            let word = unsafe { response.cast::<*mut ()>().read() };
            // SAFETY: as above, taken back once.
            then(Err(unsafe { DelegationError::from_word(word) }))
        }
        Status::Abandoned => drop(then),
    }
}

/// Like `call`, for a response of another process.
///
/// # Safety
/// Like `call`.
unsafe fn call_encoded<U: NoRef, R: FnOnce(Result<U, Unanswered>)>(
    environment: *mut Environment,
    response: *const u64,
    status: Status,
) {
    // SAFETY: C1.
    let then = unsafe { take::<R>(environment) };
    match status {
        Status::Value => {
            // SAFETY: C2: the whole response is there, as the trustee's encoder made it (`Client::take_encoded` has looked at
            // its length), and it is taken out once.
            then(encoded::decode_caught(|| unsafe { encoded::take_response::<U>(response) }));
        }
        // SAFETY: C2: the trustee put a ticket there.
        Status::Failed => then(Err(Unanswered::Late(unsafe { response.read() }))),
        Status::Abandoned => drop(then),
    }
}

/// Moves the closure out.
///
/// # Safety
/// C1.
#[inline(always)]
unsafe fn take<R>(environment: *mut Environment) -> R {
    if fits_inline::<R>() {
        // SAFETY: C1: an unused `R` is there.
        unsafe { environment.cast::<R>().read() }
    } else {
        // SAFETY: C1: the address of a box of `R` is there.
        let address = unsafe { environment.cast::<usize>().read() };
        // SAFETY: as above; the box is taken back once.
        *unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<R>(address)) }
    }
}
