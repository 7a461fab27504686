//! A length before its bytes, or a mark that these come separately.

/// The word before some bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LengthWord {
    /// This many bytes follow.
    Here(u64),
    /// They are elsewhere; the number names or counts them there.
    Apart(u64),
}

impl LengthWord {
    /// The mark, which is above all possible lengths.
    const APART: u64 = 1 << 63;

    #[inline(always)]
    pub(crate) fn pack(self) -> u64 {
        match self {
            Self::Here(length) => length,
            Self::Apart(name) => name | Self::APART,
        }
    }

    #[inline(always)]
    pub(crate) fn unpack(word: u64) -> Self {
        if word & Self::APART == 0 { Self::Here(word) } else { Self::Apart(word & !Self::APART) }
    }

    /// # Panics
    /// If there are 2^63 or more, which only elements without size can be.
    #[inline(always)]
    pub(crate) fn of_elements(length: usize) -> Self {
        assert!((length as u64) < Self::APART, "a row of {length} elements cannot travel");
        Self::Here(length as u64)
    }
}
