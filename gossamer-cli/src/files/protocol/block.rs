//! The memory stream, as both sides make it: its blocks, and how they are protected.

use gossamer::Protection;
use gossamer::stream::{Geometry, Options};

/// Sizes of blocks that a sender may choose, and the memory that they take together.
pub const BLOCKS: std::ops::RangeInclusive<u32> = 64 << 10..=2 << 20;
const RING: usize = 16 << 20;

/// What both sides make the stream of: blocks of this size, and whether somebody on the way can read their contents.
#[must_use]
pub fn options(block: usize, plain: bool) -> Options {
    let protection = if plain { Protection::Authenticated } else { Protection::Encrypted };
    Options::from(geometry(block)).protection(protection)
}

fn geometry(block: usize) -> Geometry {
    Geometry::new().block(block).comeback(0).ahead(RING / block.max(RING / 64) - 1)
}
