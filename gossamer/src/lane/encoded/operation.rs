//! What a trustee needs to know to serve a request of another process.
//!
//! Invariants
//! - P3: a closure that is conjured for another process is a constant, the same value in every process of the program:
//!   `constant::travels` was asked before its request was sent, and other processes are nodes of this program (B1).

use crate::lane::encoded::{self, Answer, Arguments, VARIABLE};
use crate::lane::operation::{Instance, Operation};
use crate::sys::image::address;
use crate::sys::image::records::record;
use crate::wire::NoRef;
use crate::wire::refusal::Malformed;
use crate::wire::word::Word;
use std::cell::Cell;
use std::ptr::NonNull;

/// How an operation is served for another process.
#[derive(Debug)]
pub(crate) struct Encoded {
    /// Identifies the operation between processes. The compiler may copy the constant `Operation`, but not a function
    /// whose address is taken.
    describe: Describe,
    pub(super) run: RunEncoded,
    /// Like `Operation::discard`.
    pub(super) discard: unsafe fn(Arguments<'_>),
    /// Words of arguments, or `encoded::VARIABLE`.
    pub(super) arguments: u16,
    /// Words of result, or `encoded::VARIABLE`.
    pub(super) result: u16,
}

/// Like `Operation::run`; the arguments may turn out to be malformed.
#[derive(Clone, Copy, Debug)]
pub(super) enum RunEncoded {
    /// Arguments or result are of variable size.
    Packed(RunPacked),
    /// Both are of fixed size.
    Fixed(unsafe fn(*mut (), *const u64, &mut [Word]) -> Result<(), Malformed>),
    /// The arguments are of fixed size, and the requests come in runs (`lane/run.rs`).
    Many(ManyEncoded),
}

/// How a request is served whose arguments or result are of variable size.
pub(super) type RunPacked = unsafe fn(*mut (), Arguments<'_>, &mut Answer<'_>) -> Result<(), Malformed>;

/// Like `operation::Many`. Arguments that turn out to be malformed end it, too.
pub(super) type ManyEncoded = unsafe fn(*mut (), *const u64, usize, &Cell<usize>) -> Result<(), Malformed>;

/// Describes one operation.
pub(crate) type Describe = fn() -> &'static Operation;

impl Encoded {
    /// The identity between processes.
    #[inline(always)]
    pub(crate) fn identity(&self) -> i32 {
        address::offset_at(self.describe as *const ())
    }
}

impl<T, C: NoRef, U: NoRef, F: FnOnce(&mut T, C) -> U, N> Instance<T, C, U, F, N> {
    pub(in crate::lane) const TRAVELLING: Operation = Self::travelling(&Self::ENCODED);
    const ENCODED: Encoded = Encoded {
        describe: Self::describe,
        run: match (encoded::words::<C>(), encoded::words::<U>()) {
            (VARIABLE, _) | (_, VARIABLE) => RunEncoded::Packed(Self::run_packed),
            _ => RunEncoded::Fixed(Self::run_fixed),
        },
        discard: Self::discard_encoded,
        arguments: encoded::words::<C>(),
        result: encoded::words::<U>(),
    };

    /// Recorded wherever it is compiled, which is where the operation is used.
    #[inline(never)]
    fn describe() -> &'static Operation {
        record!(Self::describe);
        const { &Self::TRAVELLING }
    }

    /// # Safety
    /// `property` points at a `T` that nobody else uses; `arguments` are those of such a request.
    unsafe fn run_packed(
        property: *mut (),
        arguments: Arguments<'_>,
        answer: &mut Answer<'_>,
    ) -> Result<(), Malformed> {
        // SAFETY: guaranteed by the caller.
        let arguments = unsafe { arguments.read::<C>() }?;
        // SAFETY: P3: `F` has no size (`travelling`), and this is its value everywhere.
        let closure = unsafe { NonNull::<F>::dangling().read() };
        // SAFETY: `property` points at a `T` that nobody else uses.
        let property = unsafe { &mut *property.cast::<T>() };
        answer.write(closure(property, arguments));
        Ok(())
    }

    /// # Safety
    /// Like `run_packed`; arguments and result take the words of their types, and the result's words are there.
    #[inline(always)]
    unsafe fn run_fixed(
        property: *mut (),
        arguments: *const u64,
        result: &mut [Word],
    ) -> Result<(), Malformed> {
        // SAFETY: guaranteed by the caller.
        let arguments = unsafe { encoded::take::<C>(arguments) }?;
        // SAFETY: as in `run_packed`: P3.
        let closure = unsafe { NonNull::<F>::dangling().read() };
        // SAFETY: `property` points at a `T` that nobody else uses.
        let property = unsafe { &mut *property.cast::<T>() };
        encoded::put(result, closure(property, arguments));
        Ok(())
    }

    /// # Safety
    /// `arguments` are those of such a request.
    unsafe fn discard_encoded(arguments: Arguments<'_>) {
        // SAFETY: guaranteed by the caller. What cannot be decoded cannot be dropped.
        let _dropped = unsafe { arguments.read::<C>() };
    }
}

impl<T, C: NoRef, F: FnOnce(&mut T, C), N> Instance<T, C, (), F, N> {
    pub(in crate::lane) const TRAVELLING_IN_RUNS: Operation = Self::travelling(&Self::ENCODED_IN_RUNS);
    const ENCODED_IN_RUNS: Encoded = Encoded {
        describe: Self::describe_in_runs,
        run: match encoded::words::<C>() {
            VARIABLE => RunEncoded::Packed(Self::run_packed),
            _ => RunEncoded::Many(Self::many_fixed),
        },
        ..Self::ENCODED
    };

    /// Like `describe`.
    #[inline(never)]
    fn describe_in_runs() -> &'static Operation {
        record!(Self::describe_in_runs);
        const { &Self::TRAVELLING_IN_RUNS }
    }

    /// # Safety
    /// Like `run_fixed`, for each of the requests.
    unsafe fn many_fixed(
        property: *mut (),
        arguments: *const u64,
        count: usize,
        served: &Cell<usize>,
    ) -> Result<(), Malformed> {
        let words = usize::from(encoded::words::<C>());
        while served.get() < count {
            let arguments = arguments.wrapping_add(served.get() * words);
            // SAFETY: passed on: these arguments were not read, since `served` counts those that were. The result takes no words.
            unsafe { Self::run_fixed(property, arguments, &mut []) }?;
            served.set(served.get() + 1);
        }
        Ok(())
    }
}
