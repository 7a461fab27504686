//! Operations: delegated closures by their identity.
//!
//! A delegated closure has size zero, so its type is all there is to it. For every such type the compiler makes
//! one static `Operation`; its offset in the image is its identity on the wire, which does not depend on where
//! the image was loaded.
//!
//! Invariants
//! - P1: an identity on a lane was made by `Delegated::identity` in this same image: the library and the program that
//!   uses it are one (`address::check_single`).
//! - P2: the section of `sys::image::records` holds what `record!` has put there, and nothing else: a section of this name is
//!   ours. To put something else into it takes assembly, or an attribute that is unsafe.

use crate::counters::trace::ClosureName;
use crate::lane::constant::ClosurePath;
use crate::lane::encoded::{Encoded, Fixed};
use crate::lane::payload;
use crate::lane::place::Places;
use crate::sys::image::address;
use crate::wire::NoRef;
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// What a trustee needs to know to serve a request of one kind.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Moves the arguments out, applies the closure to the property, moves the result in.
    run: unsafe fn(*mut (), *const u64, *mut u64),
    /// Drops the arguments of a request that cannot be served.
    discard: unsafe fn(*const u64),
    arguments: u16,
    result: u16,
    name: ClosureName,
    /// How it is served for another process, if it may come from one.
    encoded: Option<&'static Encoded>,
    /// How a run of such requests is served, for an operation that comes in runs.
    many: Option<Many>,
}

/// Like `Operation::run`, for so many requests without results, whose arguments lie one behind the other. Counts in the
/// cell those that it has served: a panic ends it.
pub(crate) type Many = unsafe fn(*mut (), *const u64, usize, &Cell<usize>);

impl Operation {
    /// Finds an operation by its identity.
    ///
    /// # Safety
    /// P1.
    #[inline(always)]
    pub(crate) unsafe fn at(identity: i32) -> &'static Self {
        // SAFETY: P1: the offset is that of a static `Operation`.
        unsafe { &*address::at_offset(identity) }
    }

    /// Words of arguments in a request.
    #[inline(always)]
    pub(crate) fn arguments(&self) -> usize {
        self.arguments.into()
    }

    /// Words of a whole request.
    #[inline(always)]
    pub(crate) fn step(&self) -> usize {
        1 + self.arguments()
    }

    /// Words of result in a response.
    #[inline(always)]
    pub(crate) fn result(&self) -> usize {
        self.result.into()
    }

    /// The closure's path, for reports.
    pub(crate) fn name(&self) -> &'static str {
        (self.name)()
    }

    /// How a run is served, if its requests come in runs (`run.rs`).
    #[inline(always)]
    pub(crate) fn many(&self) -> Option<Many> {
        self.many
    }

    /// A function that returns the closure's path, for users that can only keep an address.
    pub(crate) fn namer(&self) -> &ClosureName {
        &self.name
    }

    /// How it is served for another process, if it may come from one.
    #[inline(always)]
    pub(crate) fn encoded(&self) -> Option<&'static Encoded> {
        self.encoded
    }

    /// Drops the arguments of a request that will not be served.
    ///
    /// # Safety
    /// `arguments` holds unread arguments of its type.
    pub(crate) unsafe fn discard(&self, arguments: *const u64) {
        // SAFETY: passed on.
        unsafe { (self.discard)(arguments) }
    }

    /// Serves one request. If the closure panics, the arguments are dropped and no result is written.
    ///
    /// # Safety
    /// `property` points at a property of the operation's type that nobody else uses; `arguments` holds unread
    /// arguments of its type; `result` has room for its result.
    #[inline(always)]
    pub(crate) unsafe fn run(&self, property: *mut (), arguments: *const u64, result: *mut u64) {
        // SAFETY: passed on.
        unsafe { (self.run)(property, arguments, result) }
    }
}

/// An operation with the types of its property, arguments and result.
pub(crate) struct Delegated<T, C, U> {
    operation: &'static Operation,
    types: PhantomData<fn(&mut T, C) -> U>,
}

impl<T, C, U> Clone for Delegated<T, C, U> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, C, U> Copy for Delegated<T, C, U> {}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`{}", ClosurePath(self.name()), Places(self.name()))
    }
}

/// A delegated closure `F` by its types. Reports name the type `N`.
pub(super) struct Instance<T, C, U, F, N>(PhantomData<(T, C, U, F, N)>);

impl<T, C, U, F: FnOnce(&mut T, C) -> U, N> Instance<T, C, U, F, N> {
    const OPERATION: Operation = Operation {
        run: Self::run,
        discard: Self::discard,
        arguments: payload::words::<C>(),
        result: payload::words::<U>(),
        name: std::any::type_name::<N>,
        encoded: None,
        many: None,
    };

    /// The operation, if it may come from another process.
    pub(super) const fn travelling(encoded: &'static Encoded) -> Operation {
        Operation { encoded: Some(encoded), ..Self::OPERATION }
    }

    /// # Safety
    /// Like `Operation::discard`.
    unsafe fn discard(arguments: *const u64) {
        // SAFETY: guaranteed by the caller.
        drop(unsafe { payload::read::<C>(arguments) });
    }

    /// # Safety
    /// Like `Operation::run`.
    unsafe fn run(property: *mut (), arguments: *const u64, result: *mut u64) {
        // SAFETY: `of` accepted `F` as a type of size zero and forgot the value that is conjured here.
        let closure = unsafe { NonNull::<F>::dangling().read() };
        // SAFETY: `arguments` holds unread arguments of type `C`.
        let arguments = unsafe { payload::read::<C>(arguments) };
        // SAFETY: `property` points at a `T` that nobody else uses.
        let property = unsafe { &mut *property.cast::<T>() };
        let value = closure(property, arguments);
        // SAFETY: `result` has room for a `U`.
        unsafe { payload::write::<U>(result, value) };
    }
}

impl<T, C, F: FnOnce(&mut T, C), N> Instance<T, C, (), F, N> {
    const IN_RUNS: Operation = Operation { many: Some(Self::many), ..Self::OPERATION };

    /// # Safety
    /// Like `Operation::run`, for each of the requests.
    unsafe fn many(property: *mut (), arguments: *const u64, count: usize, served: &Cell<usize>) {
        let words = usize::from(payload::words::<C>());
        while served.get() < count {
            let arguments = arguments.wrapping_add(served.get() * words);
            // SAFETY: passed on: these arguments were not read, since `served` counts those that were. The result takes no words.
            unsafe { Self::run(property, arguments, NonNull::dangling().as_ptr()) };
            served.set(served.get() + 1);
        }
    }
}

/// Refuses, at compile time, a closure type that captures anything itself: anything with a size, or anything that would
/// have to be dropped if the closure were not conjured. It belongs in a `const` block of every public function that
/// takes such a closure: then the compiler points at the call of that function. `cargo check` does not get this far:
/// only a build knows the size of its closures.
#[track_caller]
pub(crate) const fn refuse_captures<F>() {
    assert!(
        size_of::<F>() == 0 && !std::mem::needs_drop::<F>(),
        "this delegated closure captures variables that gossamer's macros do not send along: write it in the call itself, \
         in a function marked #[gossamer::delegate] (or #[gossamer::main]), or hand the captures over with \
         `apply_with(|property, captures| …, captures)`, `spawn_with(|captures| …, captures)` and the like. \
         A `fn` pointer does not travel: name the function instead"
    );
}

impl<T, C, U> Delegated<T, C, U> {
    /// The operation of a closure. The closure itself is forgotten here and conjured at the trustee. Reports name the
    /// type `N`: the user's closure, where `closure` only wraps it.
    #[inline(always)]
    pub(crate) fn of<N, F: FnOnce(&mut T, C) -> U>(closure: F) -> Self {
        let delegated = Self::that_is::<N, F>(&closure);
        std::mem::forget(closure);
        delegated
    }

    /// Like `of`, for a closure that is not sent anywhere.
    #[inline(always)]
    pub(crate) fn that_is<N, F: FnOnce(&mut T, C) -> U>(_closure: &F) -> Self {
        // Public functions have refused captures with words for the user; this keeps the rest of the crate to it.
        assert!(size_of::<F>() == 0, "a closure that captures was delegated");
        Self { operation: const { &Instance::<T, C, U, F, N>::OPERATION }, types: PhantomData }
    }

    /// Like `of`, for an operation that another process may be asked for, if `constant::travels::<N>()` (P3, `encoded/operation.rs`).
    #[inline(always)]
    pub(crate) fn travelling<N, F: FnOnce(&mut T, C) -> U>(closure: F) -> Self
    where
        C: NoRef,
        U: NoRef,
    {
        assert!(size_of::<F>() == 0, "a closure that captures was delegated");
        std::mem::forget(closure);
        Self { operation: const { &Instance::<T, C, U, F, N>::TRAVELLING }, types: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn operation(self) -> &'static Operation {
        self.operation
    }

    /// The identity that stands for it on the wire.
    #[inline(always)]
    pub(crate) fn identity(self) -> i32 {
        address::offset_of(self.operation)
    }

    /// Applies the operation to a property at hand, without a lane.
    ///
    /// # Safety
    /// `property` points at a `T` that nobody else uses.
    pub(crate) unsafe fn apply(self, property: *mut (), arguments: C) -> U {
        const WORDS: usize = payload::INLINE_BYTES / size_of::<u64>();
        let (mut request, mut response) = ([0_u64; WORDS], [0_u64; WORDS]);
        // SAFETY: a payload takes at most INLINE_BYTES.
        unsafe { payload::write(request.as_mut_ptr(), arguments) };
        // SAFETY: the arguments were written above, of the operation's type; the rest is the caller's.
        unsafe { self.operation.run(property, request.as_ptr(), response.as_mut_ptr()) };
        // SAFETY: `run` returned, so it wrote a result of type `U`.
        unsafe { payload::read(response.as_ptr()) }
    }
}

impl<T, C> Delegated<T, C, ()> {
    /// Like `of`, for requests that are sent in runs (`run.rs`).
    #[inline(always)]
    pub(crate) fn in_runs<N, F: FnOnce(&mut T, C)>(closure: F) -> Self {
        assert!(size_of::<F>() == 0, "a closure that captures was delegated");
        std::mem::forget(closure);
        Self { operation: const { &Instance::<T, C, (), F, N>::IN_RUNS }, types: PhantomData }
    }

    /// Like `travelling`, for requests that are sent in runs: their arguments take the words of their type.
    #[inline(always)]
    pub(crate) fn travelling_in_runs<N, F: FnOnce(&mut T, C)>(closure: F) -> Self
    where
        C: NoRef,
    {
        assert!(Fixed::<C>::FITS, "the requests of a run are all of one size");
        assert!(size_of::<F>() == 0, "a closure that captures was delegated");
        std::mem::forget(closure);
        Self { operation: const { &Instance::<T, C, (), F, N>::TRAVELLING_IN_RUNS }, types: PhantomData }
    }
}
