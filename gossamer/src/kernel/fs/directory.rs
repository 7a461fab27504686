//! [`read_dir`]: the entries of a directory, many for each call.

use crate::blocking::unblock_as;
use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::fs::{FileType, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Entries that one call reads.
const AT_ONCE: usize = 256;

/// The entries of a directory, in no particular order, without `.` and `..`.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
/// # gossamer::fs::create_dir(&directory)?;
/// use gossamer::fs;
/// fs::write(directory.join("one"), "1")?;
/// fs::write(directory.join("two"), "2")?;
/// let mut names = fs::read_dir(&directory)?.map(|entry| Ok(entry?.file_name())).collect::<std::io::Result<Vec<_>>>()?;
/// names.sort(); // they come in no particular order
/// assert_eq!(names, ["one", "two"]);
/// # fs::remove_dir_all(&directory)
/// # }).unwrap();
/// ```
///
/// # Errors
/// Like [`std::fs::read_dir`].
#[track_caller]
pub fn read_dir(path: impl AsRef<Path>) -> io::Result<ReadDir> {
    let path = path.as_ref().to_owned();
    unblock_as("fs::read_dir", move || {
        std::fs::read_dir(path).map(|mut inner| {
            let ready = next_entries(&mut inner);
            ReadDir { ready, inner: Some(inner) }
        })
    })?
}

/// The next entries: fewer than `AT_ONCE` only at the end.
fn next_entries(directory: &mut std::fs::ReadDir) -> VecDeque<io::Result<DirEntry>> {
    directory.take(AT_ONCE).map(|entry| entry.map(DirEntry::new)).collect()
}

/// The entries of a directory: what [`read_dir`] returns.
pub struct ReadDir {
    ready: VecDeque<io::Result<DirEntry>>,
    /// `None` at the end.
    inner: Option<std::fs::ReadDir>,
}

impl Iterator for ReadDir {
    type Item = io::Result<DirEntry>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ready.is_empty() {
            let mut inner = self.inner.take()?;
            let read = unblock_as("ReadDir::next", move || (next_entries(&mut inner), inner));
            match read {
                Ok((ready, inner)) => {
                    self.inner = (ready.len() == AT_ONCE).then_some(inner);
                    self.ready = ready;
                }
                Err(error) => return Some(Err(error)),
            }
        }
        self.ready.pop_front()
    }
}

impl fmt::Debug for ReadDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadDir").finish_non_exhaustive()
    }
}

/// One entry of a directory.
#[derive(Clone, Debug)]
pub struct DirEntry {
    inner: Arc<std::fs::DirEntry>,
    /// Most file systems give it with the name.
    file_type: Option<FileType>,
}

impl DirEntry {
    fn new(inner: std::fs::DirEntry) -> Self {
        Self { file_type: inner.file_type().ok(), inner: Arc::new(inner) }
    }

    /// Its path: that of the directory, followed by its name.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
    /// # gossamer::fs::create_dir(&directory)?;
    /// use gossamer::fs;
    /// fs::write(directory.join("one"), "1")?;
    /// for entry in fs::read_dir(&directory)? {
    ///     assert_eq!(fs::read_to_string(entry?.path())?, "1");
    /// }
    /// # fs::remove_dir_all(&directory)
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.inner.path()
    }

    /// Its name.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
    /// # gossamer::fs::create_dir(&directory)?;
    /// use gossamer::fs;
    /// fs::write(directory.join("one.txt"), "1")?;
    /// let entry = fs::read_dir(&directory)?.next().expect("there is one")?;
    /// assert_eq!(entry.file_name(), "one.txt");
    /// # fs::remove_dir_all(&directory)
    /// # }).unwrap();
    /// ```
    #[must_use]
    pub fn file_name(&self) -> OsString {
        self.inner.file_name()
    }

    /// Its type: a file, a directory, a symbolic link, or something else. It was read together with the name.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
    /// # gossamer::fs::create_dir(&directory)?;
    /// use gossamer::fs;
    /// fs::create_dir(directory.join("results"))?;
    /// let entry = fs::read_dir(&directory)?.next().expect("there is one")?;
    /// assert!(entry.file_type()?.is_dir()); // without another call of the system
    /// # fs::remove_dir_all(&directory)
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`std::fs::DirEntry::file_type`].
    pub fn file_type(&self) -> io::Result<FileType> {
        match self.file_type {
            Some(file_type) => Ok(file_type),
            None => self.metadata().map(|metadata| metadata.file_type()),
        }
    }

    /// Its metadata; for a symbolic link, that of the link itself.
    ///
    /// ```
    /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
    /// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
    /// # gossamer::fs::create_dir(&directory)?;
    /// use gossamer::fs;
    /// fs::write(directory.join("one"), "hello")?;
    /// let mut bytes = 0;
    /// for entry in fs::read_dir(&directory)? {
    ///     bytes += entry?.metadata()?.len();
    /// }
    /// assert_eq!(bytes, 5);
    /// # fs::remove_dir_all(&directory)
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Like [`std::fs::DirEntry::metadata`].
    #[track_caller]
    pub fn metadata(&self) -> io::Result<Metadata> {
        let inner = Arc::clone(&self.inner);
        unblock_as("DirEntry::metadata", move || inner.metadata())?
    }
}
