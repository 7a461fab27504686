//! Files for fibers: the functions of `std::fs`, by the same names. The kernel has no non-blocking files, so a thread
//! of the pool for blocking work ([`unblock`](crate::unblock)) makes each call, while the fiber waits and its worker
//! goes on.
//!
//! ```
//! use gossamer::fs;
//! use std::io::{BufRead, BufReader};
//!
//! # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
//! # let path = std::env::temp_dir().join(format!("gossamer-fs-{}", std::process::id()));
//! fs::write(&path, "one\ntwo\n")?;
//! let lines = BufReader::new(fs::File::open(&path)?).lines();
//! assert_eq!(lines.collect::<Result<Vec<_>, _>>()?, ["one", "two"]);
//! fs::remove_file(&path)
//! # }).unwrap();
//! ```
//!
//! As with all blocking work: on a thread that is not a worker, calls are made on that thread; and a fiber that is
//! cancelled at the end of the runtime does not wait for a call that has begun, so let `main` join fibers whose files
//! matter.
//!
//! # Cost
//! Some 20 µs for each call, besides the time of the kernel. [`read`], [`read_to_string`] and [`write`](fn@write) are
//! one call, whatever the size; a [`File`] reads ahead; use a [`BufWriter`](std::io::BufWriter) for writes of a few
//! bytes.
//!
//! # Panics
//! All calls panic in a delegated closure or a callback, which cannot wait.

mod directory;
mod file;
mod file_calls;
mod open_options;

pub use directory::{DirEntry, ReadDir, read_dir};
pub use file::File;
pub use open_options::OpenOptions;

use crate::blocking::unblock_as;
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// A function of one path, or of two, as in `std::fs`. Its example has an empty `directory`.
macro_rules! function {
    ($(#[$doc:meta])* $name:ident($path:ident) -> $result:ty, $example:literal) => {
        $(#[$doc])*
        ///
        /// ```
        /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
        /// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
        /// # gossamer::fs::create_dir(&directory)?;
        /// use gossamer::fs;
        #[doc = $example]
        /// # fs::remove_dir_all(&directory)
        /// # }).unwrap();
        /// ```
        ///
        /// # Errors
        #[doc = concat!("As [`std::fs::", stringify!($name), "`].")]
        #[track_caller]
        pub fn $name($path: impl AsRef<Path>) -> io::Result<$result> {
            let $path = $path.as_ref().to_owned();
            unblock_as(concat!("fs::", stringify!($name)), move || std::fs::$name($path))?
        }
    };
    ($(#[$doc:meta])* $name:ident($from:ident, $to:ident) -> $result:ty, $example:literal) => {
        $(#[$doc])*
        ///
        /// ```
        /// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
        /// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
        /// # gossamer::fs::create_dir(&directory)?;
        /// use gossamer::fs;
        #[doc = $example]
        /// # fs::remove_dir_all(&directory)
        /// # }).unwrap();
        /// ```
        ///
        /// # Errors
        #[doc = concat!("As [`std::fs::", stringify!($name), "`].")]
        #[track_caller]
        pub fn $name($from: impl AsRef<Path>, $to: impl AsRef<Path>) -> io::Result<$result> {
            let ($from, $to) = ($from.as_ref().to_owned(), $to.as_ref().to_owned());
            unblock_as(concat!("fs::", stringify!($name)), move || std::fs::$name($from, $to))?
        }
    };
}

function! {
    /// All bytes of a file.
    read(path) -> Vec<u8>,
        "fs::write(directory.join(\"bytes\"), [1, 2, 3])?;\n\
        assert_eq!(fs::read(directory.join(\"bytes\"))?, [1, 2, 3]);"
}

function! {
    /// All of a file, which is text.
    read_to_string(path) -> String,
        "fs::write(directory.join(\"greeting\"), \"hello\")?;\n\
        assert_eq!(fs::read_to_string(directory.join(\"greeting\"))?, \"hello\");"
}

function! {
    /// The metadata of a file or a directory, or of the target of a symbolic link.
    metadata(path) -> Metadata,
        "fs::write(directory.join(\"greeting\"), \"hello\")?;\n\
        assert_eq!(fs::metadata(directory.join(\"greeting\"))?.len(), 5);\n\
        assert!(fs::metadata(&directory)?.is_dir());"
}

function! {
    /// Like [`metadata`], but for a symbolic link itself.
    symlink_metadata(path) -> Metadata,
        "fs::symlink(\"nowhere\", directory.join(\"link\"))?;\n\
        assert!(fs::symlink_metadata(directory.join(\"link\"))?.is_symlink());\n\
        assert!(fs::metadata(directory.join(\"link\")).is_err()); // its target does not exist"
}

function! {
    /// The absolute path without symbolic links.
    canonicalize(path) -> PathBuf,
        "fs::symlink(&directory, directory.join(\"link\"))?;\n\
        assert_eq!(fs::canonicalize(directory.join(\"link\"))?, fs::canonicalize(&directory)?);"
}

function! {
    /// Whether the path exists.
    exists(path) -> bool,
        "assert!(fs::exists(&directory)?);\n\
        assert!(!fs::exists(directory.join(\"nothing\"))?);"
}

function! {
    /// Creates a directory in an existing one.
    create_dir(path) -> (),
        "fs::create_dir(directory.join(\"results\"))?;\n\
        assert!(fs::create_dir(directory.join(\"results\")).is_err()); // there is one already"
}

function! {
    /// Creates a directory and its parents.
    create_dir_all(path) -> (),
        "fs::create_dir_all(directory.join(\"results/2026\"))?;\n\
        fs::create_dir_all(directory.join(\"results/2026\"))?; // also if it exists\n\
        assert!(fs::metadata(directory.join(\"results/2026\"))?.is_dir());"
}

function! {
    /// Removes a file.
    remove_file(path) -> (),
        "fs::write(directory.join(\"greeting\"), \"hello\")?;\n\
        fs::remove_file(directory.join(\"greeting\"))?;\n\
        assert!(!fs::exists(directory.join(\"greeting\"))?);"
}

function! {
    /// Removes an empty directory.
    remove_dir(path) -> (),
        "fs::create_dir(directory.join(\"results\"))?;\n\
        assert!(fs::remove_dir(&directory).is_err()); // it is not empty\n\
        fs::remove_dir(directory.join(\"results\"))?;"
}

function! {
    /// Removes a directory with all its content.
    remove_dir_all(path) -> (),
        "fs::create_dir_all(directory.join(\"results/2026\"))?;\n\
        fs::remove_dir_all(directory.join(\"results\"))?;\n\
        assert!(!fs::exists(directory.join(\"results\"))?);"
}

function! {
    /// The target of a symbolic link.
    read_link(path) -> PathBuf,
        "fs::symlink(\"version-2\", directory.join(\"current\"))?;\n\
        assert_eq!(fs::read_link(directory.join(\"current\"))?.to_str(), Some(\"version-2\"));"
}

function! {
    /// Renames a file, replacing any file of that name.
    rename(from, to) -> (),
        "fs::write(directory.join(\"new\"), \"complete\")?; // readers see the old file or this one, and no half\n\
        fs::rename(directory.join(\"new\"), directory.join(\"settings\"))?;\n\
        assert_eq!(fs::read_to_string(directory.join(\"settings\"))?, \"complete\");"
}

function! {
    /// Copies a file with its permissions; returns its length.
    copy(from, to) -> u64,
        "fs::write(directory.join(\"settings\"), \"complete\")?;\n\
        assert_eq!(fs::copy(directory.join(\"settings\"), directory.join(\"settings.old\"))?, 8);\n\
        assert_eq!(fs::read(directory.join(\"settings.old\"))?, b\"complete\");"
}

function! {
    /// Gives a file a second name (a hard link).
    hard_link(original, link) -> (),
        "fs::write(directory.join(\"one\"), \"hello\")?;\n\
        fs::hard_link(directory.join(\"one\"), directory.join(\"two\"))?;\n\
        fs::remove_file(directory.join(\"one\"))?; // the file stays as long as it has a name\n\
        assert_eq!(fs::read_to_string(directory.join(\"two\"))?, \"hello\");"
}

/// Makes `link` a symbolic link to `original`.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
/// # gossamer::fs::create_dir(&directory)?;
/// use gossamer::fs;
/// fs::write(directory.join("version-2"), "new")?;
/// fs::symlink("version-2", directory.join("current"))?;
/// assert_eq!(fs::read_to_string(directory.join("current"))?, "new");
/// # fs::remove_dir_all(&directory)
/// # }).unwrap();
/// ```
///
/// # Errors
/// Like [`std::os::unix::fs::symlink`].
#[track_caller]
pub fn symlink(original: impl AsRef<Path>, link: impl AsRef<Path>) -> io::Result<()> {
    let (original, link) = (original.as_ref().to_owned(), link.as_ref().to_owned());
    unblock_as("fs::symlink", move || std::os::unix::fs::symlink(original, link))?
}

/// Writes a file with these bytes, replacing its content. They are copied once; [`unblock`](crate::unblock) can take
/// bytes that you own without a copy.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
/// # gossamer::fs::create_dir(&directory)?;
/// use gossamer::fs;
/// fs::write(directory.join("greeting"), "hello")?;
/// fs::write(directory.join("greeting"), "bye")?; // instead
/// assert_eq!(fs::read_to_string(directory.join("greeting"))?, "bye");
/// # fs::remove_dir_all(&directory)
/// # }).unwrap();
/// ```
///
/// # Errors
/// Like [`std::fs::write`].
#[track_caller]
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let (path, contents) = (path.as_ref().to_owned(), contents.as_ref().to_owned());
    unblock_as("fs::write", move || std::fs::write(path, contents))?
}

/// Sets the permissions of a file.
///
/// ```
/// # gossamer::run(gossamer::Config::default().threads(1), || -> std::io::Result<()> {
/// # let directory = std::env::temp_dir().join(format!("gossamer-{}-{}", line!(), std::process::id()));
/// # gossamer::fs::create_dir(&directory)?;
/// use gossamer::fs;
/// use std::os::unix::fs::PermissionsExt;
/// fs::write(directory.join("key"), "secret")?;
/// fs::set_permissions(directory.join("key"), std::fs::Permissions::from_mode(0o600))?;
/// assert_eq!(fs::metadata(directory.join("key"))?.permissions().mode() & 0o777, 0o600);
/// # fs::remove_dir_all(&directory)
/// # }).unwrap();
/// ```
///
/// # Errors
/// Like [`std::fs::set_permissions`].
#[track_caller]
pub fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    unblock_as("fs::set_permissions", move || std::fs::set_permissions(path, permissions))?
}
