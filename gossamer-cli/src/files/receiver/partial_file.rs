//! A file that is being received, under another name until it is complete.

use crate::files::content::digest::{Digest, Hasher};
use crate::files::protocol::manifest::Entry;
use crate::files::receiver::incomplete::{Incomplete, TAKEN, is_still};
use crate::files::receiver::location::{Identity, Location, explain, times};
use crate::files::receiver::writeback::{Writeback, synced};
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// An incomplete file.
pub struct PartialFile {
    location: Location,
    /// Its name as long as it is incomplete.
    partial: OsString,
    file: File,
    hasher: Box<Hasher>,
    writeback: Writeback,
}

/// Why a file could not be written.
#[derive(Debug)]
pub enum WriteError {
    /// Something is wrong with this file only.
    ThisFile(String),
    /// No file can be written any more.
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
    /// Continues after the bytes of the `seen` file that `hasher` has taken, or begins anew.
    ///
    /// # Errors
    /// If it cannot be written, or another receiver writes it.
    pub fn begin(
        location: Location,
        hasher: Box<Hasher>,
        seen: Option<Identity>,
    ) -> Result<Self, WriteError> {
        let found = Incomplete::find(&location)?;
        let (partial, file) = match found.ok_or_else(|| WriteError::ThisFile(TAKEN.into()))? {
            Incomplete::Ours(partial, file) => (partial, file),
            Incomplete::Exposed(partial, file) => {
                lock(&file)?;
                rustix::fs::unlinkat(&partial.directory, &partial.name, AtFlags::empty())?;
                create(partial)?
            }
            Incomplete::Free(partial) => create(partial)?,
        };
        lock(&file)?;
        if hasher.at() > 0 && !is_still(&file, seen)? {
            return Err(WriteError::ThisFile(
                "its incomplete file was replaced by somebody; send it again".into(),
            ));
        }
        // Whatever comes after these bytes was not checked.
        file.set_len(hasher.at())?;
        Ok(Self { location, partial: partial.name, file, hasher, writeback: Writeback::default() })
    }

    /// How much is complete.
    #[must_use]
    pub fn at(&self) -> u64 {
        self.hasher.at()
    }

    /// Writes contents, never before [`at`](Self::at); a range that is skipped stays a hole.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), WriteError> {
        self.hasher.update(at, bytes);
        self.file.write_all_at(bytes, at)?;
        self.writeback.written(&self.file, bytes.len());
        Ok(())
    }

    /// Call it when everything was written: checks the file, syncs it to disk, and gives it its name.
    ///
    /// # Errors
    /// If the contents differ from what was sent, which removes the file; if the file system refuses.
    pub fn finish(
        self,
        entry: &Entry,
        bytes: u64,
        digest: Digest,
        overwrite: bool,
    ) -> Result<(), WriteError> {
        let Self { location, partial, file, hasher, writeback } = self;
        if hasher.finish(bytes) != digest {
            rustix::fs::unlinkat(&location.directory, partial, AtFlags::empty())?;
            let what = "arrived with contents other than those that were sent; send it again, and check the memory of both machines";
            return Err(WriteError::ThisFile(what.into()));
        }
        writeback.finish()?;
        file.set_len(bytes)?;
        finish_file(&file, entry)?;
        synced(&file, file.sync_all())?;
        location.put(&partial, overwrite).map_err(|error| {
            // Nobody else may have access to an incomplete file. If this fails, the next transfer starts over.
            let _closed = rustix::fs::fchmod(&file, Mode::RUSR | Mode::WUSR);
            error.into()
        })
    }
}

fn create(partial: Location) -> Result<(Location, File), WriteError> {
    let file = partial.open(OFlags::RDWR | OFlags::CREATE | OFlags::EXCL)?;
    Ok((partial, file))
}

fn lock(file: &File) -> Result<(), WriteError> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Err(WriteError::ThisFile("another receiver is writing it".into())),
        outcome => Ok(outcome?),
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
