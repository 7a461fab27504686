//! The blocks of the memory stream, as both sides cut it.

use gossamer::stream::Geometry;

/// Sizes of blocks that a sender may choose, and the memory that they take together.
pub const BLOCKS: std::ops::RangeInclusive<u32> = 64 << 10..=2 << 20;
const RING: usize = 16 << 20;

/// The geometry of the stream, which both sides have.
#[must_use]
pub fn geometry(block: usize) -> Geometry {
    Geometry::new().block(block).comeback(0).ahead(RING / block.max(RING / 64) - 1)
}
