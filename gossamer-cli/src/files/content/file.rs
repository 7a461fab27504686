//! The contents of a file on disk: where they are, and the digest of their start.

use crate::files::content::digest::Hasher;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// How much is read at a time, so that it is hashed while it is still in the processor's cache.
pub const SLICE: usize = 256 << 10;

/// The next bytes from `at` on and below `end` that are not a hole.
///
/// # Errors
/// If the file system fails.
pub fn next_extent(file: &File, at: u64, end: u64) -> io::Result<Option<Range<u64>>> {
    if at >= end {
        return Ok(None);
    }
    let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // This file system knows no holes.
        Err(Errno::INVAL) => return Ok(Some(at..end)),
        Err(error) => return Err(error.into()),
    };
    if start >= end {
        return Ok(None);
    }
    // There is always a hole behind the end, unless the file has just become shorter.
    let hole = rustix::fs::seek(file, SeekFrom::Hole(start)).unwrap_or(end);
    Ok(Some(start..hole.clamp(start + 1, end)))
}

/// Reads until the buffer is full or nothing more comes.
///
/// # Errors
/// Of `read`.
pub fn fill(buffer: &mut [u8], mut read: impl FnMut(&mut [u8]) -> io::Result<usize>) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Hashes the first `bytes` of a file.
///
/// # Errors
/// If it is shorter, or cannot be read.
pub fn hash_start(file: &File, bytes: u64, mut each: impl FnMut(u64)) -> io::Result<Hasher> {
    let mut hasher = Hasher::default();
    let mut buffer = vec![0; SLICE];
    while let Some(extent) = next_extent(file, hasher.at(), bytes)? {
        let mut at = extent.start;
        while at < extent.end {
            let wanted = buffer.len().min(usize::try_from(extent.end - at).unwrap_or(usize::MAX));
            let place = buffer.get_mut(..wanted).unwrap_or_default();
            let count = file.read_at(place, at)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            hasher.update(at, buffer.get(..count).unwrap_or_default());
            at += count as u64;
            each(at);
        }
    }
    hasher.pass_over(bytes);
    Ok(hasher)
}
