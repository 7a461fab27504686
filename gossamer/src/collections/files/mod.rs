//! Reading vectors from files and writing them to files, where each worker reads or writes its own part; and from
//! readers and to writers.

mod bytes;
mod lines;
mod numbers;
pub(super) mod regular;
pub(super) mod text;

use crate::{NoRef, rack};
use std::io::{self, ErrorKind};
use std::path::Path;

/// An error of a file on some node, on its way to the caller.
#[derive(NoRef)]
pub(super) struct FileFailure {
    /// Of the system, or else one of [`KINDS`].
    code: Result<i32, usize>,
    pub(super) message: String,
}

/// The kinds of errors that are not the system's.
const KINDS: [ErrorKind; 4] =
    [ErrorKind::InvalidData, ErrorKind::InvalidInput, ErrorKind::OutOfMemory, ErrorKind::UnexpectedEof];

impl FileFailure {
    pub(super) fn new(doing: &str, path: &Path, error: &io::Error) -> Self {
        let node = rack::this_node().index();
        let message = format!("{doing} {} on node {node}: {error}", path.display());
        let kind = || KINDS.iter().position(|kind| *kind == error.kind()).unwrap_or(0);
        Self { code: error.raw_os_error().ok_or_else(kind), message }
    }

    pub(super) fn into_error(self) -> io::Error {
        let kind = match self.code {
            Ok(code) => io::Error::from_raw_os_error(code).kind(),
            Err(kind) => KINDS.get(kind).copied().unwrap_or(ErrorKind::Other),
        };
        io::Error::new(kind, self.message)
    }
}

/// All results, or the first failure.
fn all_done<U>(results: Vec<Result<U, FileFailure>>) -> io::Result<Vec<U>> {
    results.into_iter().collect::<Result<_, _>>().map_err(FileFailure::into_error)
}
