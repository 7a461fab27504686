//! A closure that is called once or dropped, with its type erased and, if it is small, without an allocation.
//!
//! Invariant J1: `captures` holds an unused closure (or the address of its box) of the type `call` was made for,
//! until `call` is called once.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};

/// Closures up to this size need no box.
type Captures = [MaybeUninit<usize>; 8];

/// A `Box<dyn FnOnce(A)>` that keeps a small closure in itself.
pub(crate) struct InlineClosure<A> {
    /// Calls the closure, or drops it if there is no argument.
    call: unsafe fn(*mut Captures, Option<A>),
    captures: Captures,
    /// It may hold values that belong to its thread.
    local: PhantomData<*mut ()>,
}

impl<A> InlineClosure<A> {
    #[inline(always)]
    pub(crate) fn new<F: FnOnce(A) + 'static>(closure: F) -> Self {
        // SAFETY: it borrows nothing that ends.
        unsafe { Self::borrowing(closure) }
    }

    /// Like `new`, for a closure that may borrow.
    ///
    /// # Safety
    /// It is called or dropped before anything that it has borrowed ends.
    #[inline(always)]
    pub(crate) unsafe fn borrowing<F: FnOnce(A)>(closure: F) -> Self {
        let mut captures: Captures = [MaybeUninit::uninit(); _];
        if fits::<F>() {
            // SAFETY: size and alignment fit (checked); the memory is ours.
            unsafe { captures.as_mut_ptr().cast::<F>().write(closure) };
        } else {
            captures[0] = MaybeUninit::new(Box::into_raw(Box::new(closure)).expose_provenance());
        }
        Self { call: call::<A, F>, captures, local: PhantomData }
    }

    /// Calls the closure.
    #[inline(always)]
    pub(crate) fn call(self, argument: A) {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: J1: it is not dropped afterwards, so this is the one call.
        unsafe { (this.call)(&mut this.captures, Some(argument)) };
    }
}

impl<A> Drop for InlineClosure<A> {
    fn drop(&mut self) {
        // SAFETY: J1: `call` forgets the closure that it called.
        unsafe { (self.call)(&mut self.captures, None) };
    }
}

/// A [`InlineClosure`] that any thread may call.
pub(crate) struct SendInlineClosure<A>(InlineClosure<A>);

// SAFETY: `new` takes only closures that are `Send`, and nothing else is in it.
unsafe impl<A> Send for SendInlineClosure<A> {}

impl<A> SendInlineClosure<A> {
    #[inline(always)]
    pub(crate) fn new<F: FnOnce(A) + Send + 'static>(closure: F) -> Self {
        Self(InlineClosure::new(closure))
    }

    /// For the thread that calls it.
    #[inline(always)]
    pub(crate) fn into_local(self) -> InlineClosure<A> {
        self.0
    }
}

const fn fits<F>() -> bool {
    size_of::<F>() <= size_of::<Captures>() && align_of::<F>() <= align_of::<Captures>()
}

/// # Safety
/// J1, and this is the one call.
unsafe fn call<A, F: FnOnce(A)>(captures: *mut Captures, argument: Option<A>) {
    let closure: F = if fits::<F>() {
        // SAFETY: J1: an unused `F` is there.
        unsafe { captures.cast::<F>().read() }
    } else {
        // SAFETY: J1: the address of a box of `F` is there.
        let address = unsafe { captures.cast::<usize>().read() };
        // SAFETY: as above; the box is taken back once.
        *unsafe { Box::from_raw(std::ptr::with_exposed_provenance_mut::<F>(address)) }
    };
    if let Some(argument) = argument {
        closure(argument);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// Calls one closure of this size, drops another, and returns what was called and how many captures are left.
    fn called_and_left<const WORDS: usize>() -> (u32, usize) {
        let (sum, witness) = (Rc::new(Cell::new(0)), Rc::new(()));
        let closure = || {
            let (sum, witness, ballast) = (Rc::clone(&sum), Rc::clone(&witness), [1_u64; WORDS]);
            move |number: u32| {
                let _held = witness;
                sum.set(sum.get() + number * ballast.iter().sum::<u64>() as u32);
            }
        };
        InlineClosure::new(closure()).call(7);
        drop(InlineClosure::new(closure()));
        (sum.get(), Rc::strong_count(&witness) - 1)
    }

    #[test]
    fn small_and_large_closures_are_called_once_or_dropped() {
        assert_eq!(called_and_left::<1>(), (7, 0));
        assert_eq!(called_and_left::<6>(), (42, 0));
        assert_eq!(called_and_left::<7>(), (49, 0));
        assert_eq!(called_and_left::<100>(), (700, 0));
    }

    #[test]
    fn a_closure_of_large_alignment_is_called_where_it_is_aligned() {
        #[repr(align(64))]
        struct Aligned(u8);
        let aligned = Aligned(1);
        InlineClosure::new(move |()| {
            let aligned = &aligned;
            assert!((&raw const *aligned).addr().is_multiple_of(64) && aligned.0 == 1);
        })
        .call(());
    }
}
