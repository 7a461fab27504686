//! A file that is read: where it has contents, whether it has changed meanwhile, the digest of its start.

use crate::files::digest::Hasher;
use crate::files::manifest::Entry;
use rustix::fs::{Advice, Mode, OFlags, SeekFrom};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Read at a time, and then hashed while it is still in the processor's cache.
pub const SLICE: usize = 256 << 10;

/// A file that is sent.
#[derive(Debug)]
pub struct Source {
    file: File,
    stamp: Stamp,
}

/// What is different once a file has changed.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Source {
    /// Opens the file of an entry.
    ///
    /// # Errors
    /// Why it cannot be sent.
    pub fn open(path: &Path, entry: &Entry) -> Result<Self, String> {
        // What has become a pipe since it was listed must not hold up anything.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
            Errno::NOENT => "has vanished since it was listed".into(),
            error => io::Error::from(error).to_string(),
        })?;
        let file = File::from(file);
        let stamp = stamp(&file).map_err(|error| error.to_string())?;
        let (seconds, nanoseconds) = entry.changed;
        if (stamp.bytes, stamp.modified) != (entry.bytes(), (seconds, nanoseconds.into())) {
            return Err("has changed since it was listed; send it again".into());
        }
        // Only advice.
        let _advised = rustix::fs::fadvise(&file, 0, None, Advice::Sequential);
        Ok(Self { file, stamp })
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Its length when it was opened.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.stamp.bytes
    }

    /// Whether all that was read is of one state of the file.
    ///
    /// # Errors
    /// If it is not, or nobody can tell.
    pub fn check_unchanged(&self) -> Result<(), String> {
        match stamp(&self.file) {
            Ok(stamp) if stamp == self.stamp => Ok(()),
            Ok(_) => Err("has changed while it was sent; send it again".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn stamp(file: &File) -> io::Result<Stamp> {
    let metadata = file.metadata()?;
    Ok(Stamp {
        bytes: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}

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
        // A file system that knows of no holes.
        Err(Errno::INVAL) => return Ok(Some(at..end)),
        Err(error) => return Err(error.into()),
    };
    if start >= end {
        return Ok(None);
    }
    // Behind the end there is always a hole, unless the file has just become shorter.
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
