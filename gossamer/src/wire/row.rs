//! Long rows of plain values: they are sent to another process from their own memory, into memory of their final
//! size.
//!
//! Invariant D2: `start` is memory of the global allocator, of this layout, and nobody else's (none, if the layout has no bytes).
//! The first `filled` bytes of it hold plain values, or pieces of them.
#![expect(unsafe_code, reason = "memory that is a vector's before and after, and bytes meanwhile (D2)")]

use crate::wire::NoRef;
use crate::wire::refusal::Malformed;
use std::alloc::{Layout, alloc, dealloc};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// From this size on, a row of plain values is not copied into its message.
pub(crate) const LONG: usize = 16 * 1024;

/// No type has a larger alignment (Rust Reference, "The alignment modifiers").
const LARGEST_ALIGN: usize = 1 << 29;

/// Bytes that own their memory.
pub(crate) struct Row {
    start: NonNull<u8>,
    layout: Layout,
    filled: usize,
}

// SAFETY: D2: it is its owner's alone, as a vector of bytes is.
unsafe impl Send for Row {}
// SAFETY: D2: what is shared is only read.
unsafe impl Sync for Row {}

impl Default for Row {
    fn default() -> Self {
        Self { start: NonNull::dangling(), layout: Layout::new::<()>(), filled: 0 }
    }
}

impl Row {
    /// Room for a row of this many bytes, with this alignment. `None` if there is not enough memory.
    pub(crate) fn with_room(layout: Layout) -> Option<Self> {
        if layout.size() == 0 {
            return Some(Self::default());
        }
        // SAFETY: the layout has bytes.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Self { start, layout, filled: 0 })
    }

    /// Takes over plain values.
    pub(crate) fn of<T: NoRef>(values: Vec<T>) -> Self {
        assert!(T::SHAPE.is_plain(), "only plain values are their bytes in a row");
        let values = ManuallyDrop::new(values);
        let (filled, room) = (size_of_val(&values[..]), values.capacity() * size_of::<T>());
        match Layout::from_size_align(room, align_of::<T>()) {
            Ok(layout) => Self { start: NonNull::from(&values[..]).cast(), layout, filled },
            Err(_) => unreachable!("a vector has a layout"),
        }
    }

    /// The plain values, if they are complete values of this type.
    pub(crate) fn into_vec<T: NoRef>(self) -> Result<Vec<T>, Malformed> {
        let (size, room) = (size_of::<T>(), self.layout.size());
        let fits = self.layout.align() == align_of::<T>() && room > 0;
        if !T::SHAPE.is_plain() || size == 0 || !fits || room % size != 0 || !self.filled.is_multiple_of(size)
        {
            return Err(Malformed::instead_of::<[T]>());
        }
        let row = ManuallyDrop::new(self);
        let start = row.start.cast::<T>().as_ptr();
        // SAFETY: D2: the memory has the layout of as many values (checked), this many are filled, and any bytes are plain values.
        Ok(unsafe { Vec::from_raw_parts(start, row.filled / size, room / size) })
    }

    /// Whether nothing more is to come.
    pub(crate) fn is_full(&self) -> bool {
        self.filled == self.layout.size()
    }

    /// Where its bytes are, or will be.
    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// How many there will be.
    pub(crate) fn room(&self) -> usize {
        self.layout.size()
    }

    /// Nothing more is to come: all its bytes were written where they are.
    ///
    /// # Safety
    /// They were, and nobody writes them any more.
    pub(crate) unsafe fn assume_full(&mut self) {
        self.filled = self.layout.size();
    }

    /// Adds bytes that have arrived.
    ///
    /// # Errors
    /// If there is no room for them.
    pub(crate) fn extend(&mut self, bytes: &[u8]) -> Result<(), Malformed> {
        if bytes.len() > self.layout.size() - self.filled {
            return Err(Malformed::instead_of::<[u8]>());
        }
        let target = self.start.as_ptr().wrapping_add(self.filled);
        // SAFETY: D2: there is room (checked) in memory of our own.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target, bytes.len()) };
        self.filled += bytes.len();
        Ok(())
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: D2; plain values have no padding.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.filled) }
    }

    /// The layout that it needs at the other end.
    pub(crate) fn layout(&self) -> RowLayout {
        RowLayout { bytes: self.filled as u64, align: self.layout.align().trailing_zeros() as u8 }
    }
}

impl Drop for Row {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: D2.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").field("filled", &self.filled).field("layout", &self.layout).finish()
    }
}

/// The layout of a row: sent with each fragment, so that the first one allocates memory of the final size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLayout {
    pub(crate) bytes: u64,
    /// The power of two that its values are aligned to.
    pub(crate) align: u8,
}

impl RowLayout {
    /// That of encoded values, which need no alignment.
    pub(crate) fn of_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, align: 0 }
    }

    /// Memory for it. `None` if there is not enough, or the layout is invalid.
    pub(crate) fn allocate(self) -> Option<Row> {
        let align = 1_usize.checked_shl(self.align.into()).filter(|align| *align <= LARGEST_ALIGN)?;
        let bytes = usize::try_from(self.bytes).ok()?;
        Row::with_room(Layout::from_size_align(bytes, align).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_becomes_the_vector_that_it_was_without_a_copy() {
        let mut values = Vec::with_capacity(2 * LONG);
        values.extend([7_u32; LONG]);
        let row = Row::of(values);
        let start = row.bytes().as_ptr();
        let values = row.into_vec::<u32>().unwrap();
        assert_eq!(values.as_ptr().cast(), start);
        assert_eq!(values, [7; LONG]);
    }

    #[test]
    fn a_row_of_another_type_or_size_is_refused() {
        assert!(Row::of(vec![7_u32; LONG]).into_vec::<u64>().is_err());
        assert!(RowLayout { bytes: u64::MAX, align: 0 }.allocate().is_none());
        assert!(RowLayout { bytes: 8, align: 77 }.allocate().is_none());
        assert!(RowLayout { bytes: 8, align: 30 }.allocate().is_none(), "no type is aligned so");
        assert!(RowLayout { bytes: 1, align: 0 }.allocate().unwrap().extend(&[1, 2]).is_err());
        let mut half = Row::with_room(Layout::array::<u64>(2).unwrap()).unwrap();
        assert_eq!(half.extend(&[1; 12]), Ok(()));
        assert!(half.into_vec::<u64>().is_err());
    }
}
