//! Kernel 1: the graph, as rows of neighbours that are spread over the workers.

use crate::edges::Edges;
use crate::progress::Progress;
use gossamer::collections::DistVec;
use gossamer::{NoRef, TeamMember, Workers};
use std::mem::take;

/// One end of an edge as the other end lists it: the neighbour in the upper half, the bits of the weight in the lower.
/// Weights are not negative, so these numbers are in the order of neighbours, and then of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, NoRef)]
pub struct End(u64);

impl End {
    pub fn new(to: u32, weight: f32) -> Self {
        Self(u64::from(to) << 32 | u64::from(weight.to_bits()))
    }

    pub fn to(self) -> u32 {
        (self.0 >> 32) as u32
    }

    pub fn weight(self) -> f32 {
        f32::from_bits(self.0 as u32)
    }
}

/// The edges of one vertex, each neighbour once: first those that are shorter than a bucket is wide, then the others,
/// both in the order of neighbours. Loops are left out, and so are all but the lightest of several edges to one
/// neighbour.
#[derive(Debug, Default, PartialEq)]
pub struct Row {
    /// The neighbours, and then the bits of the weight of the edge to each: one allocation, of which a search that needs no weights reads half.
    words: Box<[u32]>,
    /// How many edges come first.
    light: u32,
    /// How often the vertex is an end of an edge of the input, loops and multiple edges with it.
    ends: u32,
}

impl Row {
    /// Of the edges that have an end here. A loop is listed once.
    fn new(vertex: u32, mut list: Vec<End>, delta: f32) -> Self {
        let loops = list.iter().filter(|end| end.to() == vertex).count();
        let ends = (list.len() + loops) as u32;
        list.retain(|end| end.to() != vertex);
        list.sort_unstable();
        list.dedup_by_key(|end| end.to());
        let part = |is_light| list.iter().filter(move |end| (end.weight() < delta) == is_light);
        let both = || part(true).chain(part(false));
        let words = both().map(|end| end.to()).chain(both().map(|end| end.weight().to_bits()));
        // With room for all of them at once, and no more.
        let mut row = Vec::with_capacity(2 * list.len());
        row.extend(words);
        Self { light: part(true).count() as u32, words: row.into(), ends }
    }

    /// Those of the light edges come first.
    pub fn neighbours(&self) -> &[u32] {
        &self.words[..self.words.len() / 2]
    }

    /// The neighbours, and how far each is.
    pub fn edges(&self) -> impl Iterator<Item = (u32, f32)> {
        self.some(0, self.words.len() / 2)
    }

    /// The edges that are shorter than a bucket is wide.
    pub fn light(&self) -> impl Iterator<Item = (u32, f32)> {
        self.some(0, self.light as usize)
    }

    /// All others.
    pub fn heavy(&self) -> impl Iterator<Item = (u32, f32)> {
        self.some(self.light as usize, self.words.len() / 2)
    }

    fn some(&self, first: usize, end: usize) -> impl Iterator<Item = (u32, f32)> {
        let (neighbours, weights) = self.words.split_at(self.words.len() / 2);
        neighbours[first..end]
            .iter()
            .copied()
            .zip(weights[first..end].iter().map(|bits| f32::from_bits(*bits)))
    }

    /// Where in the row a neighbour is.
    pub fn position(&self, neighbour: u32) -> Option<usize> {
        let (light, heavy) = self.neighbours().split_at(self.light as usize);
        let in_heavy = || heavy.binary_search(&neighbour).map(|at| light.len() + at);
        light.binary_search(&neighbour).or_else(|_| in_heavy()).ok()
    }

    /// The bits of the weight of an edge.
    pub fn weight_mut(&mut self, position: usize) -> &mut u32 {
        let first = self.words.len() / 2;
        &mut self.words[first + position]
    }

    /// How often the vertex is an end of an edge of the input.
    pub fn ends(&self) -> u32 {
        self.ends
    }

    pub fn ends_mut(&mut self) -> &mut u32 {
        &mut self.ends
    }
}

/// What each worker needs for its part of the work.
type Work = (Edges, DistVec<Vec<End>>, Progress, bool);

/// Sends both ends of each edge to the rows they belong to. Edges shorter than `delta` are light. The list of edges is
/// used up, block by block, unless it `stays`.
#[gossamer::delegate]
pub fn construct(
    edges: &Edges,
    vertices: usize,
    delta: f32,
    stays: bool,
    progress: &Progress,
) -> DistVec<Row> {
    let send = const {
        |_: &TeamMember, (edges, lists, progress, stays): Work| {
            let mut own = edges.local(|lists| take(&mut lists[0])).unwrap_or_default();
            let mut updates = lists.updates(const { |list: &mut Vec<End>, end: End| add(list, end) });
            for block in &mut own {
                for edge in &*block {
                    updates.push(edge.from as usize, End::new(edge.to, edge.weight));
                    if edge.from != edge.to {
                        updates.push(edge.to as usize, End::new(edge.from, edge.weight));
                    }
                }
                progress.advance(block.len() as u64);
                if !stays {
                    *block = Vec::new();
                }
            }
            updates.finish();
            if stays {
                edges.local(|lists| lists[0] = own);
            }
        }
    };
    let lists = DistVec::from_fn(vertices, const { |_| Vec::new() });
    Workers::all().each_with(send, (edges.clone(), lists.clone(), progress.clone(), stays));
    let rows = DistVec::from_fn(vertices, const { |_| Row::default() });
    rows.par_zip(&lists, move |vertex, row: &mut Row, list: &mut Vec<End>| {
        *row = Row::new(vertex as u32, take(list), delta);
    });
    rows
}

/// Adds to a list that grows by half, not to the double: all lists together are most of the memory that there is.
fn add(list: &mut Vec<End>, end: End) {
    if list.len() == list.capacity() {
        list.reserve_exact((list.len() / 2).max(4));
    }
    list.push(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_each_neighbour_once_by_the_lightest_edge_and_light_ones_first() {
        let edges = [(9, 0.25), (5, 0.5), (1, 0.75), (3, 0.0), (5, 0.125), (7, 1.0)];
        let row = Row::new(3, edges.map(|(to, weight)| End::new(to, weight)).to_vec(), 0.5);
        assert_eq!(row.light().collect::<Vec<_>>(), [(5, 0.125), (9, 0.25)]);
        assert_eq!(row.heavy().collect::<Vec<_>>(), [(1, 0.75), (7, 1.0)]);
        assert_eq!(row.edges().collect::<Vec<_>>(), [(5, 0.125), (9, 0.25), (1, 0.75), (7, 1.0)]);
        assert_eq!(row.neighbours(), [5, 9, 1, 7]);
        assert_eq!([9, 1, 3, 8].map(|neighbour| row.position(neighbour)), [Some(1), Some(2), None, None]);
        // The loop is two of them.
        assert_eq!(row.ends(), 7);
    }

    #[test]
    fn a_list_grows_by_half() {
        let mut list = Vec::new();
        (0..1000).for_each(|to| add(&mut list, End::new(to, 0.5)));
        assert!(list.len() == 1000 && list.capacity() <= 1500, "{}", list.capacity());
        assert_eq!((list[7].to(), list[7].weight()), (7, 0.5));
    }
}
