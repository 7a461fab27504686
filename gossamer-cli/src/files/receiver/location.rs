//! Where an entry goes: a directory that is open, and a name in it.

use crate::files::protocol::manifest::{Entry, PART};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags, Stat, Timespec, Timestamps, UTIME_OMIT};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use xxhash_rust::xxh3::xxh3_64;

const MOST_NAME: usize = 255;

/// Where an entry goes.
#[derive(Debug)]
pub struct Location {
    /// The directory that it is in.
    pub directory: OwnedFd,
    /// Its name there.
    pub name: OsString,
}

impl Location {
    /// The name while it is incomplete.
    #[must_use]
    pub fn partial_name(&self) -> OsString {
        let name = self.name.as_bytes();
        let mut partial = name.to_vec();
        if name.len() + PART.len() > MOST_NAME {
            partial.truncate(MOST_NAME - PART.len() - 17);
            partial.extend_from_slice(format!("-{:016x}", xxh3_64(name)).as_bytes());
        }
        partial.extend_from_slice(PART);
        OsStr::from_bytes(&partial).to_owned()
    }

    /// The same place under the name while it is incomplete.
    ///
    /// # Errors
    /// If there are too many open files.
    pub fn partial(&self) -> Result<Self, Errno> {
        let directory = self.directory.as_fd().try_clone_to_owned().map_err(errno)?;
        Ok(Self { directory, name: self.partial_name() })
    }

    /// What is there, if anything.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn stat(&self) -> Result<Option<Stat>, Errno> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) => Ok(Some(there)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the file there, or the incomplete one with [`partial_name`](Self::partial_name) as its name; never a link, and never waits.
    ///
    /// # Errors
    /// If it is not there, or no regular file.
    pub fn open(&self, flags: OFlags) -> Result<File, Errno> {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.directory, &self.name, flags, Mode::RUSR | Mode::WUSR)?;
        if is(&rustix::fs::fstat(&file)?, FileType::RegularFile) {
            Ok(file.into())
        } else {
            Err(Errno::INVAL)
        }
    }

    /// Whether a link to this target is there.
    #[must_use]
    pub fn leads_to(&self, target: &[u8]) -> bool {
        rustix::fs::readlinkat(&self.directory, &self.name, Vec::new())
            .is_ok_and(|found| found.as_bytes() == target)
    }

    /// Gives what is complete its name.
    ///
    /// # Errors
    /// `EXIST` if something has it, unless that is to be replaced.
    pub fn put(&self, overwrite: bool) -> Result<(), Errno> {
        let (directory, partial) = (&self.directory, self.partial_name());
        if overwrite {
            return rustix::fs::renameat(directory, &partial, directory, &self.name);
        }
        match rustix::fs::renameat_with(directory, &partial, directory, &self.name, RenameFlags::NOREPLACE) {
            // A file system without that.
            Err(Errno::INVAL) if self.stat()?.is_none() => {
                rustix::fs::renameat(directory, &partial, directory, &self.name)
            }
            outcome => outcome,
        }
    }
}

/// The times of an entry.
#[must_use]
pub fn times(entry: &Entry) -> Timestamps {
    let (tv_sec, tv_nsec) = entry.changed;
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec, tv_nsec: tv_nsec.into() },
    }
}

/// What an error means, for who sees the path beside it.
#[must_use]
pub fn explain(error: Errno) -> String {
    match error {
        Errno::LOOP | Errno::XDEV => "its path leads through a symbolic link, which is not followed".into(),
        Errno::NOSYS => "this kernel is older than Linux 5.6".into(),
        Errno::EXIST => "exists".into(),
        Errno::FBIG => {
            "File too large for the file system, or for the limit of the receiver (`ulimit -f`)".into()
        }
        error => io::Error::from(error).to_string(),
    }
}

/// Whether it is of this kind.
#[must_use]
pub fn is(there: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(there.st_mode) == kind
}

/// The number of an error.
#[must_use]
pub fn errno(error: io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}
