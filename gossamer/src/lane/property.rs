//! The properties of one worker, by index.
//!
//! Invariants
//! - R1: a used entry points at a live box of the type it was inserted with; the box does not move.
//! - R2: only the owning worker's thread touches the table or a property in it (the table is not `Sync`).
//! - R3: a reference to a property exists only while a delegated closure runs; delegated closures do not
//!   suspend and do not nest, so at most one such reference exists per worker.

use crate::sys::memory::prefetch;
use std::cell::{RefCell, UnsafeCell};
use std::ptr::null_mut;

#[derive(Clone, Copy)]
struct Entry {
    /// Null where the property was dropped.
    value: *mut (),
    /// Drops the box.
    release: unsafe fn(*mut ()),
}

/// A table of properties. Index 0 is the trustee itself: operations on it take `Root`.
pub(crate) struct Properties {
    /// R2, and no reference into it outlives a method.
    entries: UnsafeCell<Vec<Entry>>,
    free: RefCell<Vec<u32>>,
}

/// The property of every trustee that stands for the trustee itself.
pub(crate) struct Root;

/// Number of properties above which prefetching pays: their entries alone fill the caches of a processor (measured:
/// with a million properties, used at random, a request takes 35 ns instead of 49; with 65536 there is no gain).
const CACHED: usize = 1 << 17;

/// Index of `Root`.
pub(crate) const ROOT: u32 = 0;

impl Properties {
    pub(crate) fn new() -> Self {
        let properties = Self { entries: UnsafeCell::default(), free: RefCell::default() };
        properties.insert(Root);
        properties
    }

    /// Stores a property and returns its index.
    ///
    /// # Panics
    /// If there are 2^32 properties already.
    pub(crate) fn insert<T: 'static>(&self, value: T) -> u32 {
        unsafe fn release<T>(value: *mut ()) {
            // SAFETY: R1: the pointer came from `Box::into_raw` below and is released once.
            drop(unsafe { Box::from_raw(value.cast::<T>()) });
        }
        let entry = Entry { value: Box::into_raw(Box::new(value)).cast(), release: release::<T> };
        // SAFETY: R2: no other reference into the table exists, and none of its methods is called below.
        let entries = unsafe { &mut *self.entries.get() };
        if let Some(index) = self.free.borrow_mut().pop() {
            entries[index as usize] = entry;
            return index;
        }
        let index =
            u32::try_from(entries.len()).unwrap_or_else(|_| panic!("a trustee can hold 2^32 properties"));
        entries.push(entry);
        index
    }

    /// The address of the property, or `None` if it was dropped (its runtime is ending).
    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> Option<*mut ()> {
        // SAFETY: R2, and the reference ends with the method.
        let entries = unsafe { &*self.entries.get() };
        entries.get(index as usize).map(|entry| entry.value).filter(|value| !value.is_null())
    }

    /// Whether there are so many properties that one is hardly ever in the cache when a request for it arrives.
    #[inline]
    pub(crate) fn outgrow_the_cache(&self) -> bool {
        // SAFETY: R2, and the reference ends with the expression.
        let count = unsafe { (&*self.entries.get()).len() };
        count > CACHED
    }

    /// Hints that the entry of a property will be read.
    #[inline(always)]
    pub(crate) fn prefetch_entry(&self, index: u32) {
        // SAFETY: R2, and the reference ends with the expression.
        let start = unsafe { (&*self.entries.get()).as_ptr() };
        prefetch::read(start.wrapping_add(index as usize));
    }

    /// Hints that a property will be used.
    #[inline(always)]
    pub(crate) fn prefetch(&self, index: u32) {
        if let Some(property) = self.get(index) {
            prefetch::write(property.cast::<u64>());
        }
    }

    /// Drops a property, if it is still there.
    ///
    /// # Safety
    /// No reference to the property exists. With `reuse` its index may stand for another property from now on, so
    /// no request for this one is or will be under way.
    pub(crate) unsafe fn remove(&self, index: u32, reuse: bool) {
        if self.get(index).is_none() {
            return;
        }
        // SAFETY: R2, and the reference ends with the statement.
        let entry = unsafe { &mut (&mut *self.entries.get())[index as usize] };
        let (value, release) = (std::mem::replace(&mut entry.value, null_mut()), entry.release);
        if reuse {
            self.free.borrow_mut().push(index);
        }
        // No reference into the table is left here: the property's own Drop may use it.
        // SAFETY: R1, and the entry was emptied, so this happens once.
        unsafe { release(value) };
    }

    /// The indices in use, except the root.
    pub(crate) fn indices(&self) -> Vec<u32> {
        // SAFETY: R2, and the reference ends with the expression.
        let count = unsafe { (&*self.entries.get()).len() } as u32;
        (ROOT + 1..count).filter(|&index| self.get(index).is_some()).collect()
    }
}

impl Drop for Properties {
    fn drop(&mut self) {
        for index in std::iter::once(ROOT).chain(self.indices()) {
            // SAFETY: the worker is gone, so nothing refers to its properties and nothing will be served.
            unsafe { self.remove(index, false) };
        }
    }
}
