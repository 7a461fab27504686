//! The receiver's directory. The kernel keeps every path inside it: no path leads through a link or `..`.

use crate::exit::{Failure, USAGE};
use crate::files::content::digest::Hasher;
use crate::files::content::file::hash_start;
use crate::files::protocol::manifest::{Entry, Kind};
use crate::files::protocol::message::Answer;
use crate::files::receiver::incomplete::{Incomplete, TAKEN, own_user};
use crate::files::receiver::location::{EXCHANGED, Identity, Location, errno, explain, is, times};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A directory that files come into.
#[derive(Debug)]
pub struct Tree {
    root: OwnedFd,
    overwrite: bool,
}

/// What was found in the place of an entry.
pub struct Found {
    /// The answer to the sender.
    pub answer: Answer,
    /// A hasher that has taken what is there.
    pub hasher: Option<Box<Hasher>>,
    /// Which file or directory that is.
    pub seen: Option<Identity>,
}

impl From<Answer> for Found {
    fn from(answer: Answer) -> Self {
        Self { answer, hasher: None, seen: None }
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

    /// Whether existing files are replaced.
    #[must_use]
    pub fn overwrites(&self) -> bool {
        self.overwrite
    }

    /// The place of an entry whose path was checked.
    ///
    /// # Errors
    /// If its directory is not there, or not inside.
    pub fn locate(&self, entry: &Entry) -> Result<Location, Errno> {
        let path = Path::new(OsStr::from_bytes(&entry.path));
        let name = path.file_name().ok_or(Errno::INVAL)?.to_owned();
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = self.directory(parent.unwrap_or(Path::new(".")), OFlags::PATH)?;
        Ok(Location { directory, name })
    }

    fn directory(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let inside = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        rustix::fs::openat2(&self.root, path, flags, Mode::empty(), inside)
    }

    /// Looks for what is there of an entry. Makes directories.
    pub fn look(&self, entry: &Entry, each: &mut dyn FnMut(u64)) -> Found {
        let found = self.locate(entry).and_then(|location| match &entry.kind {
            Kind::Directory => make_directory(&location),
            Kind::Link(target) => self.look_for_link(&location, target, entry).map(Found::from),
            Kind::File(bytes) => self.look_for_file(&location, *bytes, entry, each),
            Kind::Pipe => self.look_for_file(&location, u64::MAX, entry, each),
        });
        found.unwrap_or_else(|error| Answer::Refused(explain(error)).into())
    }

    fn look_for_file(
        &self,
        location: &Location,
        bytes: u64,
        entry: &Entry,
        each: &mut dyn FnMut(u64),
    ) -> Result<Found, Errno> {
        match location.stat()? {
            None => {}
            Some(there) if !is(&there, FileType::RegularFile) => {
                return Ok(Answer::Refused("exists and is not a regular file; move it away".into()).into());
            }
            // Otherwise its owner could change it afterwards.
            Some(there) if there.st_uid != own_user() && !self.overwrite => {
                let why = "exists, and belongs to another user; --overwrite replaces it";
                return Ok(Answer::Refused(why.into()).into());
            }
            Some(there) if there.st_size as u64 == bytes && there.st_uid == own_user() => {
                return match (there.st_mtime, there.st_mtime_nsec as u32) == entry.changed {
                    true => Ok(Answer::Done.into()),
                    false => self.look_into_file(location, bytes, each),
                };
            }
            Some(_) if !self.overwrite => {
                let why = "exists, with other contents; --overwrite replaces it";
                return Ok(Answer::Refused(why.into()).into());
            }
            Some(_) => {}
        }
        match entry.kind {
            // What a pipe delivers now cannot be compared with what it delivered before.
            Kind::Pipe => Ok(Answer::Send.into()),
            _ => look_for_partial_file(location, bytes, each),
        }
    }

    /// A file of the same size, which may be the same.
    fn look_into_file(
        &self,
        location: &Location,
        bytes: u64,
        each: &mut dyn FnMut(u64),
    ) -> Result<Found, Errno> {
        let file = location.open(OFlags::RDONLY)?;
        let seen = Some(Identity::of(&rustix::fs::fstat(&file)?));
        let hasher = hash_start(&file, bytes, each).map_err(errno)?;
        let answer = Answer::Compare { digest: hasher.clone().finish(bytes), replace: self.overwrite };
        Ok(Found { answer, hasher: Some(Box::new(hasher)), seen })
    }

    fn look_for_link(&self, location: &Location, target: &[u8], entry: &Entry) -> Result<Answer, Errno> {
        if entry.leads_out() {
            let target = String::from_utf8_lossy(target);
            return Ok(Answer::Refused(format!("is a link that leads out of what is sent, to {target}")));
        }
        Ok(match location.stat()? {
            Some(there) if is(&there, FileType::Directory) => {
                Answer::Refused("exists and is a directory".into())
            }
            Some(_) if !self.overwrite && !location.leads_to(target) => {
                Answer::Refused("exists; --overwrite replaces it".into())
            }
            _ => Answer::Done,
        })
    }

    /// Makes a link whose entry was answered with `Done`.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn make_link(&self, entry: &Entry, target: &[u8]) -> Result<(), Errno> {
        let location = self.locate(entry)?;
        if location.leads_to(target) {
            return Ok(());
        }
        let [partial, other] = location.partial_names();
        let partial = match new_link(&location, target, &partial) {
            Err(Errno::EXIST) => new_link(&location, target, &other).map(|()| other),
            outcome => outcome.map(|()| partial),
        }?;
        rustix::fs::utimensat(&location.directory, &partial, &times(entry), AtFlags::SYMLINK_NOFOLLOW)?;
        location.put(&partial, self.overwrite)
    }

    /// Gives a directory its permissions and time, once everything is in it, and syncs its names to disk.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn finish_directory(&self, entry: &Entry, seen: Option<Identity>) -> Result<(), Errno> {
        let directory = self.directory(Path::new(OsStr::from_bytes(&entry.path)), OFlags::RDONLY)?;
        if seen != Some(Identity::of(&rustix::fs::fstat(&directory)?)) {
            return Err(EXCHANGED);
        }
        rustix::fs::fchmod(&directory, Mode::from_raw_mode(entry.mode & 0o777))?;
        rustix::fs::futimens(&directory, &times(entry))?;
        rustix::fs::fsync(&directory)
    }

    /// Syncs the names in the directory itself to disk.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn finish(&self) -> Result<(), Errno> {
        rustix::fs::fsync(&self.root)
    }
}

/// What exists of a file that did not arrive completely.
fn look_for_partial_file(location: &Location, bytes: u64, each: &mut dyn FnMut(u64)) -> Result<Found, Errno> {
    let file = match Incomplete::find(location)? {
        Some(Incomplete::Ours(_, file)) => file,
        Some(_) => return Ok(Answer::Send.into()),
        None => return Ok(Answer::Refused(TAKEN.into()).into()),
    };
    let state = rustix::fs::fstat(&file)?;
    let there = (state.st_size as u64).min(bytes);
    if there == 0 {
        return Ok(Answer::Send.into());
    }
    let hasher = hash_start(&file, there, each).map_err(errno)?;
    let answer = Answer::Have { bytes: there, digest: hasher.clone().finish(there) };
    Ok(Found { answer, hasher: Some(Box::new(hasher)), seen: Some(Identity::of(&state)) })
}

/// Makes a link under the name for incomplete entries, in place of one that was left behind.
fn new_link(location: &Location, target: &[u8], partial: &OsStr) -> Result<(), Errno> {
    let _left = rustix::fs::unlinkat(&location.directory, partial, AtFlags::empty());
    rustix::fs::symlinkat(target, &location.directory, partial)
}

fn make_directory(location: &Location) -> Result<Found, Errno> {
    match rustix::fs::mkdirat(&location.directory, &location.name, Mode::RWXU) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error),
    }
    Ok(match location.stat()? {
        Some(there) if is(&there, FileType::Directory) => {
            Found { seen: Some(Identity::of(&there)), ..Answer::Done.into() }
        }
        _ => Answer::Refused("exists and is not a directory".into()).into(),
    })
}
