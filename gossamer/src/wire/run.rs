//! Long rows of plain values: they go to another process from where they lie, into memory of their final size.
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

/// Bytes from which a row of plain values is not copied to others of its message.
pub(crate) const LONG: usize = 16 * 1024;

/// Bytes that own their memory.
pub(crate) struct Run {
    start: NonNull<u8>,
    layout: Layout,
    filled: usize,
}

// SAFETY: D2: it is its owner's alone, as a vector of bytes is.
unsafe impl Send for Run {}

impl Default for Run {
    fn default() -> Self {
        Self { start: NonNull::dangling(), layout: Layout::new::<()>(), filled: 0 }
    }
}

impl Run {
    /// What is to come: so many bytes, for values of this alignment. `None` if there is no such memory.
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

    /// The plain values, if there are whole ones of this type, and nothing else.
    pub(crate) fn into_vec<T: NoRef>(self) -> Result<Vec<T>, Malformed> {
        let (size, layout) = (size_of::<T>(), self.layout);
        let fits = self.is_full() && layout.align() == align_of::<T>() && layout.size() > 0;
        if !T::SHAPE.is_plain() || size == 0 || !fits || !layout.size().is_multiple_of(size) {
            return Err(Malformed::instead_of::<[T]>());
        }
        let (start, count) = (ManuallyDrop::new(self).start.cast::<T>(), layout.size() / size);
        // SAFETY: D2: the memory has the layout of as many values (checked), all filled, and any bytes are plain values.
        Ok(unsafe { Vec::from_raw_parts(start.as_ptr(), count, count) })
    }

    /// Whether nothing more is to come.
    pub(crate) fn is_full(&self) -> bool {
        self.filled == self.layout.size()
    }

    /// Adds bytes that have come.
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

    /// What it takes at the other end.
    pub(crate) fn part(&self) -> Part {
        Part { bytes: self.filled as u64, align: self.layout.align().trailing_zeros() as u8 }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.layout.size() > 0 {
            // SAFETY: D2.
            unsafe { dealloc(self.start.as_ptr(), self.layout) };
        }
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").field("filled", &self.filled).field("layout", &self.layout).finish()
    }
}

/// A part of a message that comes in pieces: what is said of it ahead of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) bytes: u64,
    /// The power of two that its values are aligned to.
    pub(crate) align: u8,
}

impl Part {
    /// Bytes that are encoded values.
    pub(crate) fn encoded(bytes: &[u8]) -> Self {
        Self { bytes: bytes.len() as u64, align: 0 }
    }

    /// Adds a piece to the parts of a message that have come.
    ///
    /// # Errors
    /// If there is no memory for the part, or the piece does not fit it.
    pub(crate) fn arrive(self, parts: &mut Vec<Run>, piece: &[u8]) -> Result<(), Malformed> {
        if parts.last().is_none_or(Run::is_full) {
            let align = 1_usize.checked_shl(self.align.into()).unwrap_or_default();
            let layout = usize::try_from(self.bytes).ok().zip(Some(align));
            let layout = layout.and_then(|(bytes, align)| Layout::from_size_align(bytes, align).ok());
            parts.push(layout.and_then(Run::with_room).ok_or_else(Malformed::instead_of::<Run>)?);
        }
        parts.last_mut().map_or(Ok(()), |part| part.extend(piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::decoder::Decoder;
    use crate::wire::encoder::Encoder;
    use std::collections::VecDeque;

    type Mixed = (String, Vec<u64>, Vec<Option<u8>>, Vec<[u16; 3]>, VecDeque<u128>);

    fn mixed() -> Mixed {
        let few = vec![[1, 2, 3]; 10];
        ("x".repeat(LONG), (0..LONG as u64).collect(), vec![Some(1); LONG], few, vec![7; LONG].into())
    }

    /// A message as it arrives, in pieces.
    fn arrived() -> Vec<Run> {
        let parcel = Encoder::parcel_with_runs(mixed()).unwrap();
        let mut parts = Vec::new();
        for (part, bytes) in parcel.parts() {
            bytes.chunks(1000).for_each(|piece| part.arrive(&mut parts, piece).unwrap());
        }
        parts
    }

    #[test]
    fn long_rows_travel_apart_and_come_together_again() {
        let mut parts = arrived();
        assert_eq!(parts.len(), 4, "three rows are long and plain");
        assert_eq!(Decoder::decoded_parts::<Mixed>(&mut parts), Ok(mixed()));
        // Bytes of one row are not copied: the vector has its memory.
        let row = Run::of(vec![7_u32; LONG]);
        let start = row.bytes().as_ptr();
        let row = row.into_vec::<u32>().unwrap();
        assert_eq!(row.as_ptr().cast(), start);
    }

    #[test]
    fn parts_that_are_missing_or_of_another_type_are_refused() {
        for gone in 0..4 {
            let mut parts = arrived();
            parts.remove(gone);
            assert!(Decoder::decoded_parts::<Mixed>(&mut parts).is_err());
            let mut parts = arrived();
            parts.swap(gone, (gone + 1) % 4);
            assert!(Decoder::decoded_parts::<Mixed>(&mut parts).is_err());
        }
        let bytes = Encoder::encoded(mixed()).unwrap();
        assert_eq!(Decoder::decoded::<Mixed>(&bytes), Ok(mixed()));
        assert!(Decoder::decoded::<Mixed>(arrived()[0].bytes()).is_err(), "rows that are not there");
        assert!(Run::of(vec![7_u32; LONG]).into_vec::<u64>().is_err());
        assert!(Part { bytes: u64::MAX, align: 0 }.arrive(&mut Vec::new(), &[1]).is_err());
        assert!(Part { bytes: 8, align: 77 }.arrive(&mut Vec::new(), &[1]).is_err());
        assert!(Part { bytes: 1, align: 0 }.arrive(&mut Vec::new(), &[1, 2]).is_err());
        let mut half = Run::with_room(Layout::array::<u64>(2).unwrap()).unwrap();
        assert_eq!(half.extend(&[1; 8]), Ok(()));
        assert!(half.into_vec::<u64>().is_err());
    }
}
