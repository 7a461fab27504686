//! [`Geometry`]: how a stream is cut into blocks, and how many of them are in memory. [`Length`]: how many bytes it has.

use crate::NoRef;
use std::fmt;

/// The most blocks of a ring.
pub(crate) const MOST_SLOTS: usize = 256;

/// How a stream is cut into blocks, and how many of them each end has in memory: its *ring*.
///
/// Both ends have the same geometry. The ring has `ahead + comeback + 1` blocks, by default 8 of 2 MiB.
///
/// ```
/// use gossamer::stream::Geometry;
/// let geometry = Geometry::new().block(1 << 22).comeback(0).ahead(3);
/// assert_eq!(geometry.ring_bytes(), 16 << 20);
/// assert!(geometry.check().is_ok());
/// assert!(geometry.block(1000).check().is_err());
/// ```
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    pub(super) block: usize,
    pub(super) ahead: usize,
    pub(super) comeback: usize,
}

impl Default for Geometry {
    fn default() -> Self {
        Self { block: 2 << 20, ahead: 6, comeback: 1 }
    }
}

impl Geometry {
    /// Blocks of 2 MiB, 6 of them ahead, a comeback of 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of a block: a power of two, from 4 KiB to 1 GiB. From 2 MiB on huge pages back it.
    #[must_use]
    pub fn block(self, bytes: usize) -> Self {
        Self { block: bytes, ..self }
    }

    /// Blocks that the sender may be ahead of the receiver: at least 1, and at least the comeback.
    #[must_use]
    pub fn ahead(self, blocks: usize) -> Self {
        Self { ahead: blocks, ..self }
    }

    /// Blocks behind the foremost one in use that stay in memory, at each end: so far back one may go again.
    #[must_use]
    pub fn comeback(self, blocks: usize) -> Self {
        Self { comeback: blocks, ..self }
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> usize {
        self.block
    }

    /// Blocks behind the foremost one that stay.
    pub fn comeback_blocks(&self) -> u64 {
        self.comeback as u64
    }

    /// Blocks that the sender may be ahead.
    pub fn ahead_blocks(&self) -> u64 {
        self.ahead as u64
    }

    /// Bytes of memory that each end takes (one for both, inside a machine).
    pub fn ring_bytes(&self) -> usize {
        self.block * self.slots()
    }

    /// Blocks of a ring.
    pub(crate) fn slots(&self) -> usize {
        self.ahead + self.comeback + 1
    }

    /// Blocks that one fault maps at once: with the comeback half of a ring, so that the other end finds as many to go on with.
    pub(crate) fn batch(&self) -> u64 {
        ((self.slots() / 2).saturating_sub(self.comeback) as u64).max(1)
    }

    /// As many, if another thread maps them, which takes longer: fewer, so that some are left to go on with meanwhile.
    pub(crate) fn small_batch(&self) -> u64 {
        (((self.slots() - self.comeback) / 3) as u64).max(1)
    }

    /// The block that a byte is in.
    pub(crate) fn block_of(&self, offset: u64) -> u64 {
        offset / self.block as u64
    }

    /// Where a block begins.
    pub(crate) fn start_of(&self, block: u64) -> u64 {
        block.saturating_mul(self.block as u64)
    }

    /// How many blocks so many bytes are.
    pub(crate) fn blocks_of(&self, bytes: u64) -> u64 {
        bytes.div_ceil(self.block as u64)
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, ahead, comeback } = self;
        write!(f, "blocks of {block} bytes, {ahead} ahead, a comeback of {comeback}")
    }
}

/// How many bytes a stream has.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// So many, which both ends know from the start.
    Known(u64),
    /// Until the sender finishes.
    Open,
}

/// The largest stream: a third of what a process can address.
pub(crate) const MOST_BYTES: u64 = 1 << 45;
/// Where a stream ends whose length is open, at the latest.
pub(crate) const LONGEST: u64 = i64::MAX as u64;
/// Bytes of the window of a stream whose length is open.
pub(crate) const OPEN_WINDOW: u64 = 1 << 42;

impl Length {
    pub(crate) fn known(self) -> Option<u64> {
        match self {
            Self::Known(bytes) => Some(bytes),
            Self::Open => None,
        }
    }
}

impl From<u64> for Length {
    fn from(bytes: u64) -> Self {
        Self::Known(bytes)
    }
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(bytes) => write!(f, "{bytes} bytes"),
            Self::Open => f.write_str("an open length"),
        }
    }
}
