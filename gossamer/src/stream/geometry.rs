//! [`Geometry`]: how a stream is cut into blocks, and how many of them are in memory. [`Length`]: its number of
//! bytes.

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
    ///
    /// ```
    /// use gossamer::stream::{self, Geometry};
    /// let small = Geometry::new().block(64 << 10); // 8 blocks of 64 KiB at each end, instead of 2 MiB
    /// let (sender, _receiver) = stream::pair(1 << 40, small)?;
    /// assert_eq!(sender.length(), Some(1 << 40));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of a block: a power of two, from 4 KiB to 1 GiB. From 2 MiB on huge pages back it.
    ///
    /// ```
    /// let small = gossamer::stream::Geometry::new().block(64 * 1024);
    /// assert_eq!(small.block_bytes(), 64 * 1024);
    /// ```
    #[must_use]
    pub fn block(self, bytes: usize) -> Self {
        Self { block: bytes, ..self }
    }

    /// Blocks that the sender may be ahead of the receiver: at least 1, and at least the comeback.
    ///
    /// ```
    /// let far = gossamer::stream::Geometry::new().ahead(30); // evens out longer pauses of the receiver
    /// assert_eq!(far.ahead_blocks(), 30);
    /// ```
    #[must_use]
    pub fn ahead(self, blocks: usize) -> Self {
        Self { ahead: blocks, ..self }
    }

    /// Blocks behind the foremost one in use that stay in memory at each end: how far you may go back.
    ///
    /// ```
    /// let geometry = gossamer::stream::Geometry::new().comeback(2);
    /// assert_eq!(geometry.comeback_blocks(), 2);
    /// ```
    #[must_use]
    pub fn comeback(self, blocks: usize) -> Self {
        Self { comeback: blocks, ..self }
    }

    /// Bytes of a block.
    ///
    /// ```
    /// let geometry = gossamer::stream::Geometry::new();
    /// let records = geometry.block_bytes() / 512; // whole records in each block
    /// assert_eq!(records, 4096);
    /// ```
    pub fn block_bytes(&self) -> usize {
        self.block
    }

    /// Blocks that stay behind the foremost one.
    ///
    /// ```
    /// let geometry = gossamer::stream::Geometry::new().comeback(2);
    /// let back = geometry.comeback_blocks() * geometry.block_bytes() as u64; // what may be read again, at least
    /// assert_eq!(back, 4 << 20);
    /// ```
    pub fn comeback_blocks(&self) -> u64 {
        self.comeback as u64
    }

    /// Blocks that the sender may be ahead.
    ///
    /// ```
    /// let geometry = gossamer::stream::Geometry::new();
    /// let unread = geometry.ahead_blocks() * geometry.block_bytes() as u64; // what the receiver may be behind
    /// assert_eq!(unread, 12 << 20);
    /// ```
    pub fn ahead_blocks(&self) -> u64 {
        self.ahead as u64
    }

    /// Bytes of memory of each end (within a machine, of both together).
    ///
    /// ```
    /// use gossamer::stream::Geometry;
    /// assert_eq!(Geometry::new().ring_bytes(), 16 << 20); // 6 blocks ahead, 1 of comeback and the one in use, of 2 MiB
    /// ```
    pub fn ring_bytes(&self) -> usize {
        self.block * self.slots()
    }

    /// Blocks of a ring.
    pub(crate) fn slots(&self) -> usize {
        self.ahead + self.comeback + 1
    }

    /// Blocks that one fault maps at once: together with the comeback half of a ring, so that the other end has as
    /// many to continue with.
    pub(crate) fn batch(&self) -> u64 {
        ((self.slots() / 2).saturating_sub(self.comeback) as u64).max(1)
    }

    /// The same if another thread maps them, which takes longer: fewer, so that some are left to continue with
    /// meanwhile.
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

    /// How many blocks this many bytes take.
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

/// The number of bytes of a stream.
#[derive(NoRef, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// This many, known to both ends from the start.
    Known(u64),
    /// As many as the sender writes before it finishes.
    Open,
}

/// The largest stream: a third of what a process can address.
pub(crate) const MOST_BYTES: u64 = 1 << 45;
/// The latest end of a stream whose length is open.
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
