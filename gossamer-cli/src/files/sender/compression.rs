//! Puts contents in their place in a block, behind the room for their record's head: compressed, or as they are.

use crate::files::content::file::fill;
use crate::files::protocol::record::{HEAD, Record};
use std::io;

/// How much is compressed at a time.
const PIECE: usize = 512 << 10;

/// Compresses.
pub struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    plain: Vec<u8>,
}

/// The record of contents that are in their place.
pub struct Placed {
    /// How many bytes of contents it has.
    pub plain: usize,
    /// How many bytes they take.
    pub taken: usize,
    /// Its head.
    pub head: [u8; HEAD],
}

/// Reads contents that belong at an offset into their place, as they are.
///
/// # Errors
/// Of `read`.
pub fn place(
    at: u64,
    room: &mut [u8],
    read: impl FnMut(&mut [u8]) -> io::Result<usize>,
) -> io::Result<Placed> {
    let count = fill(room, read)?;
    let bytes = room.get(..count).unwrap_or_default();
    Ok(Placed { plain: count, taken: count, head: Record::Data { at, bytes }.parts().0 })
}

impl Compressor {
    /// With this level.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new(level: i32) -> io::Result<Self> {
        Ok(Self { zstd: zstd::bulk::Compressor::new(level)?, plain: vec![0; PIECE] })
    }

    /// Reads contents that belong at an offset, and puts them in their place, compressed if that makes them smaller.
    ///
    /// # Errors
    /// Of `read`.
    pub fn place(
        &mut self,
        at: u64,
        room: &mut [u8],
        read: impl FnMut(&mut [u8]) -> io::Result<usize>,
    ) -> io::Result<Placed> {
        let most = room.len().min(self.plain.len());
        let plain = fill(self.plain.get_mut(..most).unwrap_or_default(), read)?;
        let contents = self.plain.get(..plain).unwrap_or_default();
        // Compression fails if it would take more room than the contents, which are then sent as they are.
        let least = room.get_mut(..plain).unwrap_or_default();
        let taken = self.zstd.compress_to_buffer(contents, least).unwrap_or(plain);
        if taken < plain {
            let bytes = least.get(..taken).unwrap_or_default();
            return Ok(Placed { plain, taken, head: Record::Compressed { at, plain, bytes }.parts().0 });
        }
        least.copy_from_slice(contents);
        Ok(Placed { plain, taken: plain, head: Record::Data { at, bytes: contents }.parts().0 })
    }
}
