//! Kernel 1: the graph, as rows of neighbours that are spread over the workers.

use crate::edges::Edges;
use crate::progress::Progress;
use gossamer::collections::DistVec;
use gossamer::{TeamMember, Workers};
use std::mem::take;

/// How many edges are sent between two reports to the progress bar.
const CHUNK: usize = 4096;

/// The edges of one vertex, with each neighbour once, in order. Loops are left out, and of several edges to one
/// neighbour only the lightest is kept.
#[derive(Debug, Default, PartialEq)]
pub struct Row {
    /// The neighbours, followed by the bits of the weight of the edge to each. In one allocation: a search that needs
    /// no weights reads half of it.
    words: Box<[u32]>,
    /// How often the vertex is an end of an input edge, including loops and multiple edges.
    ends: u32,
}

impl Row {
    /// The number of input edges that have an end here; a loop counts once.
    fn new(vertex: u32, mut edges: Vec<(u32, f32)>) -> Self {
        let loops = edges.iter().filter(|(to, _)| *to == vertex).count();
        let ends = (edges.len() + loops) as u32;
        edges.retain(|(to, _)| *to != vertex);
        edges.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
        edges.dedup_by_key(|(to, _)| *to);
        let weights = edges.iter().map(|(_, weight)| weight.to_bits());
        Self { words: edges.iter().map(|(to, _)| *to).chain(weights).collect(), ends }
    }

    pub fn neighbours(&self) -> &[u32] {
        &self.words[..self.words.len() / 2]
    }

    /// The neighbours, and how far away each is.
    pub fn edges(&self) -> impl Iterator<Item = (u32, f32)> {
        let (neighbours, weights) = self.words.split_at(self.words.len() / 2);
        neighbours.iter().copied().zip(weights.iter().map(|bits| f32::from_bits(*bits)))
    }

    /// How often the vertex is an end of an edge of the input.
    pub fn ends(&self) -> u32 {
        self.ends
    }
}

/// Sends both ends of each edge to the rows to which they belong. The edges are consumed.
pub fn construct(edges: &Edges, vertices: usize, progress: &Progress) -> DistVec<Row> {
    let send = const {
        |_: &TeamMember, (edges, lists, progress): (Edges, DistVec<Vec<(u32, f32)>>, Progress)| {
            let own = edges.local(|lists| take(&mut lists[0])).unwrap_or_default();
            let mut updates = lists.updates(const { |list: &mut Vec<_>, edge: (u32, f32)| list.push(edge) });
            for chunk in own.chunks(CHUNK) {
                for edge in chunk {
                    updates.push(edge.from as usize, (edge.to, edge.weight));
                    if edge.from != edge.to {
                        updates.push(edge.to as usize, (edge.from, edge.weight));
                    }
                }
                progress.advance(chunk.len() as u64);
            }
            updates.finish();
        }
    };
    let lists = DistVec::from_fn(vertices, const { |_| Vec::new() });
    Workers::all().each_with(send, (edges.clone(), lists.clone(), progress.clone()));
    let rows = DistVec::from_fn(vertices, const { |_| Row::default() });
    rows.par_zip(
        &lists,
        const {
            |vertex, row: &mut Row, list: &mut Vec<(u32, f32)>| *row = Row::new(vertex as u32, take(list))
        },
    );
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_each_neighbour_once_by_the_lightest_edge() {
        let row = Row::new(3, vec![(5, 0.5), (1, 0.25), (3, 0.0), (5, 0.125), (9, 1.0)]);
        assert_eq!(row.edges().collect::<Vec<_>>(), [(1, 0.25), (5, 0.125), (9, 1.0)]);
        assert_eq!(row.neighbours(), [1, 5, 9]);
        // A loop has both of its ends here.
        assert_eq!(row.ends(), 6);
    }
}
