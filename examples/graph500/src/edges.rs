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

/// What each worker has: blocks, of which each is freed once it has been used.
pub type Edges = DistVec<Vec<Vec<Edge>>>;

/// Edges of a block: so many that a block is worth a request, and so few that one more or less is no memory.
pub const BLOCK: usize = 16 * 1024;

/// A list for each worker, with nothing in it.
pub fn none() -> Edges {
    DistVec::from_fn(Trustee::all().len(), const { |_| Vec::new() })
}

/// Distributes edges in equal parts.
pub fn distribute(edges: &[Edge]) -> Edges {
    let lists = none();
    for (number, block) in edges.chunks(BLOCK).enumerate() {
        let append = const { |list: &mut Vec<_>, block: Vec<Edge>| list.push(block) };
        lists.update_with(number % lists.len(), append, block.to_vec());
    }
    lists
}
