//! A file that is being received, and is called something else until it is complete.

use crate::files::digest::{Digest, Hasher};
use crate::files::manifest::Entry;
use crate::files::tree::{Place, explain, times};
use crate::files::writeback::{Writeback, synced};
use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// An incomplete file.
pub struct Part {
    place: Place,
    file: File,
    hasher: Box<Hasher>,
    writeback: Writeback,
}

/// Why a file could not be written.
#[derive(Debug)]
pub enum Trouble {
    /// It is this file's trouble.
    Here(String),
    /// No file can be written.
    Everywhere(String),
}

impl From<Errno> for Trouble {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOSPC | Errno::DQUOT | Errno::ROFS | Errno::IO => Self::Everywhere(explain(error)),
            error => Self::Here(explain(error)),
        }
    }
}

impl From<std::io::Error> for Trouble {
    fn from(error: std::io::Error) -> Self {
        Errno::from_raw_os_error(error.raw_os_error().unwrap_or(Errno::IO.raw_os_error())).into()
    }
}

impl Part {
    /// Goes on behind what `hasher` has taken, or begins.
    ///
    /// # Errors
    /// If it cannot be written, or another receiver writes it.
    pub fn begin(place: Place, hasher: Box<Hasher>) -> Result<Self, Trouble> {
        let name = place.part();
        let incomplete = Place { directory: place.directory, name };
        let file = incomplete.open(OFlags::RDWR | OFlags::CREATE)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => return Err(Trouble::Here("another receiver writes it now".into())),
            outcome => outcome?,
        }
        // What is behind that was not checked.
        file.set_len(hasher.at())?;
        let place = Place { directory: incomplete.directory, name: place.name };
        Ok(Self { place, file, hasher, writeback: Writeback::default() })
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
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Trouble> {
        self.hasher.update(at, bytes);
        self.file.write_all_at(bytes, at)?;
        self.writeback.written(&self.file, bytes.len());
        Ok(())
    }

    /// All was written: checks it, has it written to disk, and gives it its name.
    ///
    /// # Errors
    /// If it is something else than was sent, and then it is removed; if the file system refuses.
    pub fn finish(self, entry: &Entry, bytes: u64, digest: Digest, overwrite: bool) -> Result<(), Trouble> {
        let Self { place, file, hasher, writeback } = self;
        if hasher.finish(bytes) != digest {
            rustix::fs::unlinkat(&place.directory, place.part(), rustix::fs::AtFlags::empty())?;
            let what = "arrived with other contents than were sent; send it again, and check the memory of both machines";
            return Err(Trouble::Here(what.into()));
        }
        writeback.finish()?;
        file.set_len(bytes)?;
        finish_file(&file, entry)?;
        synced(&file, file.sync_all())?;
        Ok(place.put(overwrite)?)
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
