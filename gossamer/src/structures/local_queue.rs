//! A queue for one thread that costs a few instructions an entry.
//!
//! Invariants
//! - Q1: the slots from `head` to `tail` (wrapping, modulo the capacity, a power of two) hold values; no others do.
//! - Q2: no reference into `slots` is handed out, and no code of `T` runs while one exists.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;

/// A first-in, first-out queue that grows as needed. Not `Sync`.
pub(crate) struct LocalQueue<T> {
    slots: UnsafeCell<Box<[MaybeUninit<T>]>>,
    head: Cell<usize>,
    tail: Cell<usize>,
}

impl<T> LocalQueue<T> {
    /// An empty queue with room for `capacity` entries, rounded up to a power of two.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        let slots = Box::new_uninit_slice(capacity.max(1).next_power_of_two());
        Self { slots: UnsafeCell::new(slots), head: Cell::new(0), tail: Cell::new(0) }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.tail.get().wrapping_sub(self.head.get())
    }

    fn capacity(&self) -> usize {
        // SAFETY: Q2.
        unsafe { (&*self.slots.get()).len() }
    }

    /// The address of the entry at a position.
    #[inline(always)]
    fn slot(&self, position: usize) -> *mut T {
        // SAFETY: Q2: the reference ends with the expression.
        let slots = unsafe { &mut *self.slots.get() };
        let index = position & (slots.len() - 1);
        // SAFETY: the index is below the length, a power of two.
        unsafe { slots.get_unchecked_mut(index).as_mut_ptr() }
    }

    #[inline(always)]
    pub(crate) fn push(&self, value: T) {
        // SAFETY: the queue provides room for a value.
        let write = |place: *mut T| unsafe { place.write(value) };
        // SAFETY: `write` makes a value, and pushes nothing.
        unsafe { self.push_in_place(write) };
    }

    /// Adds an entry, which `write` makes in its place.
    ///
    /// # Safety
    /// `write` makes a value at the address it gets, and does not use this queue.
    #[inline(always)]
    pub(crate) unsafe fn push_in_place(&self, write: impl FnOnce(*mut T)) {
        if self.len() == self.capacity() {
            self.grow();
        }
        // Q1: there is room, so the slot at `tail` holds no value.
        write(self.slot(self.tail.get()));
        self.tail.set(self.tail.get().wrapping_add(1));
    }

    /// Calls `f` with the entry that was pushed last, if it is still there.
    #[inline(always)]
    pub(crate) fn with_last<R>(&self, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        // SAFETY: Q1: the slot before `tail` holds a value. Q2 for `f`: callers only change a number in it.
        (self.len() > 0).then(|| f(unsafe { &mut *self.slot(self.tail.get().wrapping_sub(1)) }))
    }

    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<T> {
        if self.len() == 0 {
            return None;
        }
        // SAFETY: Q1: the slot at `head` holds a value; it is outside the range from the next line on.
        let value = unsafe { self.slot(self.head.get()).read() };
        self.head.set(self.head.get().wrapping_add(1));
        Some(value)
    }

    /// Takes the first entry out without moving it: `f` gets its address and must read it before it pushes here.
    ///
    /// # Safety
    /// `f` takes over the value at the address.
    #[inline(always)]
    pub(crate) unsafe fn pop_in_place<R>(&self, f: impl FnOnce(*mut T) -> R) -> Option<R> {
        if self.len() == 0 {
            return None;
        }
        let entry = self.slot(self.head.get());
        self.head.set(self.head.get().wrapping_add(1));
        Some(f(entry))
    }

    /// Calls `f` with the entry that will be popped after `ahead` others, if there is one.
    #[inline(always)]
    pub(crate) fn peek(&self, ahead: usize, f: impl FnOnce(&T)) {
        if ahead < self.len() {
            // SAFETY: Q1: the slot holds a value. Q2 for `f`: callers only prefetch it.
            f(unsafe { &*self.slot(self.head.get().wrapping_add(ahead)) });
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&self) {
        let larger = Self::with_capacity(self.capacity() * 2);
        while let Some(value) = self.pop() {
            larger.push(value);
        }
        // SAFETY: Q2; the old slots hold no values any more, the new ones from 0 to `larger.tail`.
        unsafe { std::ptr::swap(self.slots.get(), larger.slots.get()) };
        self.head.set(0);
        self.tail.set(larger.tail.replace(0));
    }
}

impl<T> Drop for LocalQueue<T> {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn entries_come_out_in_order_across_wrapping_and_growth() {
        let queue = LocalQueue::with_capacity(2);
        let (mut pushed, mut popped) = (0_u32, 0);
        for round in 0..100 {
            for _ in 0..round % 7 {
                queue.push(pushed);
                pushed += 1;
            }
            for _ in 0..round % 5 {
                if let Some(value) = queue.pop() {
                    assert_eq!(value, popped);
                    popped += 1;
                }
            }
            assert_eq!(queue.len() as u32, pushed - popped);
        }
    }

    #[test]
    fn the_entry_pushed_last_can_be_changed_while_it_is_there() {
        let queue = LocalQueue::with_capacity(2);
        assert_eq!(queue.with_last(|last: &mut u32| *last), None);
        for number in 0..5 {
            queue.push(number);
            assert_eq!(queue.with_last(|last| std::mem::replace(last, *last + 10)), Some(number));
        }
        (10..15).for_each(|number| assert_eq!(queue.pop(), Some(number)));
        assert_eq!(queue.with_last(|last| *last), None);
    }

    #[test]
    fn what_is_left_is_dropped_once() {
        let witness = Rc::new(());
        let queue = LocalQueue::with_capacity(1);
        (0..5).for_each(|_| queue.push(Rc::clone(&witness)));
        drop(queue.pop());
        drop(queue);
        assert_eq!(Rc::strong_count(&witness), 1);
    }
}
