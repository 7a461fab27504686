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
/// Something else is there than when it was looked at.
pub const EXCHANGED: Errno = Errno::STALE;

/// The identity of a file, whatever its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(u64, u64);

impl Identity {
    /// The identity of the file that has this metadata.
    #[must_use]
    pub fn of(there: &Stat) -> Self {
        Self(there.st_dev, there.st_ino)
    }
}

/// Where an entry goes.
#[derive(Debug)]
pub struct Location {
    /// The directory that it is in.
    pub directory: OwnedFd,
    /// Its name there.
    pub name: OsString,
}

impl Location {
    /// The names while it is incomplete. The second is for the case that somebody else has taken the first.
    #[must_use]
    pub fn partial_names(&self) -> [OsString; 2] {
        ["".into(), format!(".{}", rustix::process::geteuid().as_raw())]
            .map(|mark: String| self.partial_name(&mark))
    }

    fn partial_name(&self, mark: &str) -> OsString {
        let (name, end) = (self.name.as_bytes(), [mark.as_bytes(), PART].concat());
        let mut partial = name.to_vec();
        if name.len() + end.len() > MOST_NAME {
            partial.truncate(MOST_NAME - end.len() - 17);
            partial.extend_from_slice(format!("-{:016x}", xxh3_64(name)).as_bytes());
        }
        partial.extend_from_slice(&end);
        OsStr::from_bytes(&partial).to_owned()
    }

    /// Another name in the same directory.
    ///
    /// # Errors
    /// If there are too many open files.
    pub fn renamed(&self, name: OsString) -> Result<Self, Errno> {
        let directory = self.directory.as_fd().try_clone_to_owned().map_err(errno)?;
        Ok(Self { directory, name })
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

    /// Opens the file there. It never follows a link, and never waits.
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

    /// Gives its name to what is complete, and was called `partial`.
    ///
    /// # Errors
    /// `EXIST` if something has the name already, unless it is to be replaced.
    pub fn put(&self, partial: &OsStr, overwrite: bool) -> Result<(), Errno> {
        let directory = &self.directory;
        if overwrite {
            return rustix::fs::renameat(directory, partial, directory, &self.name);
        }
        match rustix::fs::renameat_with(directory, partial, directory, &self.name, RenameFlags::NOREPLACE) {
            // A file system that cannot do that.
            Err(Errno::INVAL) if self.stat()?.is_none() => {
                rustix::fs::renameat(directory, partial, directory, &self.name)
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

/// What an error means, for a user who sees the path beside it.
#[must_use]
pub fn explain(error: Errno) -> String {
    match error {
        Errno::LOOP | Errno::XDEV => "its path leads through a symbolic link, which is not followed".into(),
        Errno::NOSYS => "this kernel is older than Linux 5.6".into(),
        Errno::EXIST => "exists".into(),
        EXCHANGED => "was replaced by somebody meanwhile".into(),
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
