//! Regular files, of which several workers read parts at once.

use crate::blocking;
use crate::collections::files::FileFailure;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Opens a file, and returns its length, too.
///
/// # Errors
/// If it cannot be opened, or is not a file that has a length.
pub(super) fn open(path: &Path) -> io::Result<(File, u64)> {
    // Before it is opened, which would wait for the other end of a pipe.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file, which parts can be read of",
        ));
    }
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    if len == 0 && file.read_at(&mut [0], 0)? > 0 {
        let text = "it has bytes, but says that its length is 0, as files of the kernel do";
        return Err(io::Error::new(ErrorKind::InvalidInput, text));
    }
    Ok((file, len))
}

/// The length of a file, which is to be the same for all workers that read parts of it. Errors say what was being done.
#[track_caller]
pub(in crate::collections) fn length(call: &'static str, doing: &str, path: &Path) -> io::Result<u64> {
    let opened = path.to_owned();
    let opened = blocking::unblock_as(call, move || open(&opened))?;
    let (_, len) = opened.map_err(|error| FileFailure::new(doing, path, &error).into_error())?;
    Ok(len)
}
