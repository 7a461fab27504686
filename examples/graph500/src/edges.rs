//! The edges of a graph, as they were generated or read: a list of them on each worker.

use gossamer::collections::DistVec;
use gossamer::{NoRef, Trustee};

/// An undirected edge, of which either end may be named first.
#[derive(Clone, Copy, Debug, PartialEq, NoRef)]
pub struct Edge {
    pub from: u32,
    pub to: u32,
    /// Its length, at least 0.
    pub weight: f32,
}

/// The edges that one worker has.
pub type Edges = DistVec<Vec<Edge>>;

/// How many edges are distributed at a time.
const CHUNK: usize = 64 * 1024;

/// A list for each worker, with nothing in it.
pub fn none() -> Edges {
    DistVec::from_fn(Trustee::all().len(), const { |_| Vec::new() })
}

/// Distributes edges in equal parts.
pub fn distribute(edges: &[Edge]) -> Edges {
    let lists = none();
    for (chunk, edges) in edges.chunks(CHUNK).enumerate() {
        let append = const { |list: &mut Vec<Edge>, edges: Vec<Edge>| list.extend(edges) };
        lists.update_with(chunk % lists.len(), append, edges.to_vec());
    }
    lists
}
