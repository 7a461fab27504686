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
use source::Source;
use std::path::Path;

/// The contents of a file.
#[derive(Debug, PartialEq)]
pub struct Graph {
    pub vertices: usize,
    /// Each undirected edge. Edges that the file has several times are here several times, unless its format lists each
    /// at both ends.
    pub edges: Vec<Edge>,
}

/// Reads a file; its name tells the format.
pub fn read(path: &Path) -> Result<Graph, FileError> {
    let mut source = Source::open(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let graph = match name.trim_end_matches(".gz").rsplit('.').next() {
        Some("gr") => dimacs::read(&mut source),
        Some("graph" | "metis") => metis::read(&mut source),
        Some("mtx") => matrix_market::read(&mut source),
        _ => edge_list::read(&mut source),
    }?;
    let greatest = graph.edges.iter().fold(0.0, |greatest: f32, edge| greatest.max(edge.weight));
    // The longest path there could be.
    if f64::from(greatest) * graph.vertices as f64 > f64::from(f32::MAX) {
        return Err(source.wrong_as_a_whole(format_args!(
            "lengths of paths are single-precision numbers, and {} vertices times the greatest weight, {greatest:e}, is more than the largest of these: scale the weights down",
            graph.vertices
        )));
    }
    Ok(graph)
}
