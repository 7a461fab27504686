//! Reading vectors from files and writing them to files, where each worker reads or writes its own part; and from
//! readers and to writers.

mod bytes;
mod lines;
mod numbers;
pub(super) mod text;

use crate::{NoRef, rack};
use std::io;
use std::path::Path;

/// An error of a file on some node, on its way to the caller.
#[derive(NoRef)]
pub(super) struct FileFailure {
    code: Option<i32>,
    pub(super) message: String,
}

impl FileFailure {
    pub(super) fn new(doing: &str, path: &Path, error: &io::Error) -> Self {
        let node = rack::this_node().index();
        let message = format!("{doing} {} on node {node}: {error}", path.display());
        Self { code: error.raw_os_error(), message }
    }

    /// An error without a system code is about the content of the file.
    pub(super) fn into_error(self) -> io::Error {
        let kind =
            self.code.map_or(io::ErrorKind::InvalidData, |code| io::Error::from_raw_os_error(code).kind());
        io::Error::new(kind, self.message)
    }
}

/// All results, or the first failure.
fn all_done<U>(results: Vec<Result<U, FileFailure>>) -> io::Result<Vec<U>> {
    results.into_iter().collect::<Result<_, _>>().map_err(FileFailure::into_error)
}
