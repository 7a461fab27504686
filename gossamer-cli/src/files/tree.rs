//! The receiver's directory. The kernel keeps every path inside: none leads through a link or `..`.

use crate::exit::{Failure, USAGE};
use crate::files::digest::Hasher;
use crate::files::manifest::{Entry, Kind, PART};
use crate::files::message::Answer;
use crate::files::source::hash_start;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, ResolveFlags, Stat, Timespec, Timestamps, UTIME_OMIT,
};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use xxhash_rust::xxh3::xxh3_64;

const MOST_NAME: usize = 255;

/// A directory that files come into.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
    overwrite: bool,
}

/// Where an entry goes.
#[derive(Debug)]
pub struct Place {
    /// The directory that it is in.
    pub directory: OwnedFd,
    /// Its name there.
    pub name: OsString,
}

/// What was found where an entry goes.
pub struct Found {
    /// What is said to the sender.
    pub answer: Answer,
    /// Has taken what is there.
    pub hasher: Option<Box<Hasher>>,
}

impl From<Answer> for Found {
    fn from(answer: Answer) -> Self {
        Self { answer, hasher: None }
    }
}

/// What an error means, for who sees the path beside it.
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

impl Tree {
    /// Opens a directory. What exists in it is replaced only with `overwrite`.
    ///
    /// # Errors
    /// If there is none.
    pub fn open(path: &Path, overwrite: bool) -> Result<Self, Failure> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| {
            let advice = if error == Errno::NOENT { "; make it first" } else { "" };
            let error = io::Error::from(error);
            Failure::new(USAGE, format!("cannot receive into {}: {error}{advice}", path.display()))
        })?;
        Ok(Self { root, overwrite })
    }

    /// Whether what exists is replaced.
    #[must_use]
    pub fn overwrites(&self) -> bool {
        self.overwrite
    }

    /// Where an entry goes, whose path was checked.
    ///
    /// # Errors
    /// If its directory is not there, or not inside.
    pub fn place(&self, entry: &Entry) -> Result<Place, Errno> {
        let path = Path::new(OsStr::from_bytes(&entry.path));
        let name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = self.directory(parent.unwrap_or(Path::new(".")), OFlags::PATH)?;
        Ok(Place { directory, name })
    }

    fn directory(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(&self.root, path, flags, Mode::empty(), inside)
    }

    /// Looks what is there of an entry. Makes directories.
    pub fn look(&self, entry: &Entry, each: &mut dyn FnMut(u64)) -> Found {
        let found = self.place(entry).and_then(|place| match &entry.kind {
            Kind::Directory => make_directory(&place).map(Found::from),
            Kind::Link(target) => self.look_for_link(&place, target, entry).map(Found::from),
            Kind::File(bytes) => self.look_for_file(&place, *bytes, entry, each),
            Kind::Pipe => self.look_for_file(&place, u64::MAX, entry, each),
        });
        found.unwrap_or_else(|error| Answer::Refused(explain(error)).into())
    }

    fn look_for_file(
        &self,
        place: &Place,
        bytes: u64,
        entry: &Entry,
        each: &mut dyn FnMut(u64),
    ) -> Result<Found, Errno> {
        let exists =
            |what: &str| Ok(Answer::Refused(format!("exists, {what}; --overwrite replaces it")).into());
        match place.stat()? {
            None => {}
            Some(there) if !is(&there, FileType::RegularFile) => {
                return Ok(Answer::Refused("exists and is no regular file; move it away".into()).into());
            }
            Some(there) if there.st_size as u64 == bytes => {
                if (there.st_mtime, there.st_mtime_nsec as u32) == entry.changed {
                    return Ok(Answer::Done.into());
                }
                let hasher = hash_start(&place.open(OFlags::RDONLY)?, bytes, each).map_err(errno)?;
                let answer =
                    Answer::Compare { digest: hasher.clone().finish(bytes), replace: self.overwrite };
                return Ok(Found { answer, hasher: Some(Box::new(hasher)) });
            }
            Some(_) if !self.overwrite => return exists("with other contents"),
            Some(_) => {}
        }
        let part = Place {
            directory: place.directory.as_fd().try_clone_to_owned().map_err(errno)?,
            name: place.part(),
        };
        // What a pipe brings cannot be compared with what it brought before.
        let Some(there) = part.stat()?.filter(|_| entry.kind != Kind::Pipe) else {
            return Ok(Answer::Send.into());
        };
        let there = (there.st_size as u64).min(bytes);
        if there == 0 {
            return Ok(Answer::Send.into());
        }
        let hasher = hash_start(&part.open(OFlags::RDONLY)?, there, each).map_err(errno)?;
        let answer = Answer::Have { bytes: there, digest: hasher.clone().finish(there) };
        Ok(Found { answer, hasher: Some(Box::new(hasher)) })
    }

    fn look_for_link(&self, place: &Place, target: &[u8], entry: &Entry) -> Result<Answer, Errno> {
        if entry.leads_out() {
            let target = String::from_utf8_lossy(target);
            return Ok(Answer::Refused(format!("is a link out of what is sent, to {target}")));
        }
        Ok(match place.stat()? {
            Some(there) if is(&there, FileType::Directory) => {
                Answer::Refused("exists and is a directory".into())
            }
            Some(_) if !self.overwrite && !place.leads_to(target) => {
                Answer::Refused("exists; --overwrite replaces it".into())
            }
            _ => Answer::Done,
        })
    }

    /// Makes a link that was answered with `Done`.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn make_link(&self, entry: &Entry, target: &[u8]) -> Result<(), Errno> {
        let place = self.place(entry)?;
        if place.leads_to(target) {
            return Ok(());
        }
        let part = place.part();
        let _left = rustix::fs::unlinkat(&place.directory, &part, AtFlags::empty());
        rustix::fs::symlinkat(target, &place.directory, &part)?;
        rustix::fs::utimensat(&place.directory, &part, &times(entry), AtFlags::SYMLINK_NOFOLLOW)?;
        place.put(self.overwrite)
    }

    /// Gives a directory its permissions and time, once all is in it, and has its names written to disk.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn finish_directory(&self, entry: &Entry) -> Result<(), Errno> {
        let directory = self.directory(Path::new(OsStr::from_bytes(&entry.path)), OFlags::RDONLY)?;
        rustix::fs::fchmod(&directory, Mode::from_raw_mode(entry.mode & 0o777))?;
        rustix::fs::futimens(&directory, &times(entry))?;
        rustix::fs::fsync(&directory)
    }

    /// Has the names in the directory itself written to disk.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn finish(&self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.root)
    }
}

impl Place {
    /// The name while it is incomplete.
    #[must_use]
    pub fn part(&self) -> OsString {
        let name = self.name.as_bytes();
        let mut part = name.to_vec();
        if name.len() + PART.len() > MOST_NAME {
            part.truncate(MOST_NAME - PART.len() - 17);
            part.extend_from_slice(format!("-{:016x}", xxh3_64(name)).as_bytes());
        }
        part.extend_from_slice(PART);
        OsStr::from_bytes(&part).to_owned()
    }

    fn stat(&self) -> Result<Option<Stat>, Errno> {
        match rustix::fs::statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(there) => Ok(Some(there)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the file there, or the incomplete one with [`part`](Self::part) as its name; never a link, and never waits.
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

    fn leads_to(&self, target: &[u8]) -> bool {
        rustix::fs::readlinkat(&self.directory, &self.name, Vec::new())
            .is_ok_and(|found| found.as_bytes() == target)
    }

    /// Gives what is complete its name.
    ///
    /// # Errors
    /// `EXIST` if something has it, unless that is to be replaced.
    pub fn put(&self, overwrite: bool) -> Result<(), Errno> {
        let (directory, part) = (&self.directory, self.part());
        if overwrite {
            return rustix::fs::renameat(directory, &part, directory, &self.name);
        }
        match rustix::fs::renameat_with(directory, &part, directory, &self.name, RenameFlags::NOREPLACE) {
            // A file system without that.
            Err(Errno::INVAL) if self.stat()?.is_none() => {
                rustix::fs::renameat(directory, &part, directory, &self.name)
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

fn make_directory(place: &Place) -> Result<Answer, Errno> {
    match rustix::fs::mkdirat(&place.directory, &place.name, Mode::RWXU) {
        Err(Errno::EXIST) => match place.stat()? {
            Some(there) if is(&there, FileType::Directory) => Ok(Answer::Done),
            _ => Ok(Answer::Refused("exists and is no directory".into())),
        },
        outcome => outcome.map(|()| Answer::Done),
    }
}

fn is(there: &Stat, kind: FileType) -> bool {
    FileType::from_raw_mode(there.st_mode) == kind
}

fn errno(error: io::Error) -> Errno {
    error.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error)
}
