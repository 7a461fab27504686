//! A file that is being received, and is called something else until it is complete.

use crate::files::content::digest::{Digest, Hasher};
use crate::files::protocol::manifest::Entry;
use crate::files::receiver::location::{Location, explain, times};
use crate::files::receiver::writeback::{Writeback, synced};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// An incomplete file.
pub struct PartialFile {
    location: Location,
    file: File,
    hasher: Box<Hasher>,
    writeback: Writeback,
}

/// Why a file could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// It is this file's trouble.
    ThisFile(String),
    /// No file can be written.
    EveryFile(String),
}

impl From<Errno> for WriteError {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOSPC | Errno::DQUOT | Errno::ROFS | Errno::IO => Self::EveryFile(explain(error)),
            error => Self::ThisFile(explain(error)),
        }
    }
}

impl From<std::io::Error> for WriteError {
    fn from(error: std::io::Error) -> Self {
        Errno::from_raw_os_error(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())).into()
    }
}

impl PartialFile {
    /// Goes on behind what `hasher` has taken, or begins.
    ///
    /// # Errors
    /// If it cannot be written, or another receiver writes it.
    pub fn begin(location: Location, hasher: Box<Hasher>) -> Result<Self, WriteError> {
        let name = location.partial_name();
        let incomplete = Location { directory: location.directory, name };
        let file = incomplete.open(OFlags::RDWR | OFlags::CREATE)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                return Err(WriteError::ThisFile("another receiver writes it now".into()));
            }
            outcome => outcome?,
        }
        // What is behind that was not checked.
        file.set_len(hasher.at())?;
        let location = Location { directory: incomplete.directory, name: location.name };
        Ok(Self { location, file, hasher, writeback: Writeback::default() })
    }

    /// What is complete up to here.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.hasher.at()
    }

    /// Writes contents, not in front of [`at`](Self::at); what is passed over stays a hole.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.hasher.update(at, bytes);
        self.file.write_all_at(bytes, at)?;
        self.writeback.written(&self.file, bytes.len());
        Ok(())
    }

    /// All was written: checks it, has it written to disk, and gives it its name.
    ///
    /// # Errors
    /// If it is something else than was sent, and then it is removed; if the file system refuses.
    pub fn finish(
        self,
        entry: &Entry,
        bytes: u64,
        digest: Digest,
        overwrite: bool,
    ) -> Result<(), WriteError> {
        let Self { location, file, hasher, writeback } = self;
        if hasher.finish(bytes) != digest {
            rustix::fs::unlinkat(&location.directory, location.partial_name(), rustix::fs::AtFlags::empty())?;
            let what = "arrived with other contents than were sent; send it again, and check the memory of both machines";
            return Err(WriteError::ThisFile(what.into()));
        }
        writeback.finish()?;
        file.set_len(bytes)?;
        finish_file(&file, entry)?;
        synced(&file, file.sync_all())?;
        Ok(location.put(overwrite)?)
    }
}

/// Gives a file its permissions and time.
///
/// # Errors
/// If the file system refuses.
pub fn finish_file(file: &File, entry: &Entry) -> Result<(), Errno> {
    rustix::fs::fchmod(file, Mode::from_raw_mode(entry.mode & 0o777))?;
    rustix::fs::futimens(file, &times(entry))
}
