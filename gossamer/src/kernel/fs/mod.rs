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
mod open_options;

pub use directory::{DirEntry, ReadDir, read_dir};
pub use file::File;
pub use open_options::OpenOptions;

use crate::blocking::unblock_as;
use std::fs::{Metadata, Permissions};
use std::io;
use std::path::{Path, PathBuf};

/// A function of one path, or of two, as in `std::fs`.
macro_rules! function {
    ($(#[$doc:meta])* $name:ident($path:ident) -> $result:ty) => {
        $(#[$doc])*
        ///
        /// # Errors
        #[doc = concat!("As [`std::fs::", stringify!($name), "`].")]
        pub fn $name($path: impl AsRef<Path>) -> io::Result<$result> {
            let $path = $path.as_ref().to_owned();
            unblock_as(concat!("fs::", stringify!($name)), move || std::fs::$name($path))?
        }
    };
    ($(#[$doc:meta])* $name:ident($from:ident, $to:ident) -> $result:ty) => {
        $(#[$doc])*
        ///
        /// # Errors
        #[doc = concat!("As [`std::fs::", stringify!($name), "`].")]
        pub fn $name($from: impl AsRef<Path>, $to: impl AsRef<Path>) -> io::Result<$result> {
            let ($from, $to) = ($from.as_ref().to_owned(), $to.as_ref().to_owned());
            unblock_as(concat!("fs::", stringify!($name)), move || std::fs::$name($from, $to))?
        }
    };
}

function! {
    /// All bytes of a file.
    read(path) -> Vec<u8>
}

function! {
    /// All of a file, which is text.
    read_to_string(path) -> String
}

function! {
    /// The metadata of a file or a directory, or of the target of a symbolic link.
    metadata(path) -> Metadata
}

function! {
    /// Like [`metadata`], but for a symbolic link itself.
    symlink_metadata(path) -> Metadata
}

function! {
    /// The absolute path without symbolic links.
    canonicalize(path) -> PathBuf
}

function! {
    /// Whether the path exists.
    exists(path) -> bool
}

function! {
    /// Creates a directory in an existing one.
    create_dir(path) -> ()
}

function! {
    /// Creates a directory and its parents.
    create_dir_all(path) -> ()
}

function! {
    /// Removes a file.
    remove_file(path) -> ()
}

function! {
    /// Removes an empty directory.
    remove_dir(path) -> ()
}

function! {
    /// Removes a directory with all its content.
    remove_dir_all(path) -> ()
}

function! {
    /// The target of a symbolic link.
    read_link(path) -> PathBuf
}

function! {
    /// Renames a file, replacing any file of that name.
    rename(from, to) -> ()
}

function! {
    /// Copies a file with its permissions; returns its length.
    copy(from, to) -> u64
}

function! {
    /// Gives a file a second name (a hard link).
    hard_link(original, link) -> ()
}

/// Makes `link` a symbolic link to `original`.
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
/// # Errors
/// Like [`std::fs::write`].
#[track_caller]
pub fn write(path: impl AsRef<Path>, contents: impl AsRef<[u8]>) -> io::Result<()> {
    let (path, contents) = (path.as_ref().to_owned(), contents.as_ref().to_owned());
    unblock_as("fs::write", move || std::fs::write(path, contents))?
}

/// Sets the permissions of a file.
///
/// # Errors
/// Like [`std::fs::set_permissions`].
#[track_caller]
pub fn set_permissions(path: impl AsRef<Path>, permissions: Permissions) -> io::Result<()> {
    let path = path.as_ref().to_owned();
    unblock_as("fs::set_permissions", move || std::fs::set_permissions(path, permissions))?
}
