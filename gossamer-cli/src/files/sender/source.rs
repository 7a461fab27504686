//! A file that is being sent, and whether it has changed meanwhile.

use crate::files::protocol::manifest::Entry;
use rustix::fs::{Advice, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A file that is sent.
#[derive(Debug)]
pub struct Source {
    file: File,
    stamp: FileState,
}

/// What differs once a file has changed.
#[derive(Debug, PartialEq, Eq)]
struct FileState {
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
        // If an entry has become a pipe since it was listed, opening it must not wait.
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

    /// Whether everything that was read belongs to one state of the file.
    ///
    /// # Errors
    /// If it does not, or nobody can tell.
    pub fn check_unchanged(&self) -> Result<(), String> {
        match stamp(&self.file) {
            Ok(stamp) if stamp == self.stamp => Ok(()),
            Ok(_) => Err("changed while it was being sent; send it again".into()),
            Err(error) => Err(error.to_string()),
        }
    }
}

fn stamp(file: &File) -> io::Result<FileState> {
    let metadata = file.metadata()?;
    Ok(FileState {
        bytes: metadata.len(),
        modified: (metadata.mtime(), metadata.mtime_nsec()),
        changed: (metadata.ctime(), metadata.ctime_nsec()),
    })
}
