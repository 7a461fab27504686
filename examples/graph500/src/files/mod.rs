//! Graphs from files, in several formats, compressed by gzip or not.

mod dimacs;
mod edge_list;
mod matrix_market;
mod metis;
mod source;
#[cfg(test)]
mod tests;

pub use source::FileError;

use crate::edges::Edge;
use source::{Room, Source};
use std::ffi::OsStr;
use std::path::Path;

/// The contents of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Graph {
    pub vertices: usize,
    /// Each undirected edge. Edges that the file has several times are here several times, unless its format lists each
    /// at both ends.
    pub edges: Vec<Edge>,
}

/// Reads a file of a graph for which there has to be room, as is asked again while it is read; its name tells the format.
pub fn read(path: &Path, room: Room) -> Result<Graph, FileError> {
    let mut source = Source::open(path, room)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let name = Path::new(name.strip_suffix(".gz").unwrap_or(&name));
    match name.extension().and_then(OsStr::to_str) {
        Some("gr") => dimacs::read(&mut source),
        Some("graph" | "metis") => metis::read(&mut source),
        Some("mtx") => matrix_market::read(&mut source),
        _ => edge_list::read(&mut source),
    }
}
