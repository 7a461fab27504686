//! The place of an element in its part, in the size that travels.

/// How many elements a part may have, so that a place takes four bytes in a batch.
pub(super) const MOST: usize = u32::MAX as usize;

/// The place of an element in its part, which has at most [`MOST`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Offset(u32);

impl Offset {
    #[inline(always)]
    pub(super) fn new(offset: usize) -> Self {
        debug_assert!(offset <= MOST, "a part has at most {MOST} elements");
        Self(offset as u32)
    }

    #[inline(always)]
    pub(super) fn get(self) -> usize {
        self.0 as usize
    }

    /// As it travels: a row of these is plain.
    #[inline(always)]
    pub(super) fn number(self) -> u32 {
        self.0
    }
}
