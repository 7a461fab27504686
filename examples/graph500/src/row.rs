//! The edges of a vertex. Rows of one worker lie one after another, so that a search that visits many of them reads on in
//! memory.

use crate::end::End;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// More ends than a vertex can have.
const REFUTED: u32 = u32::MAX;

/// The edges of some vertices, one row after another.
#[derive(Debug)]
struct Block {
    neighbours: Box<[u32]>,
    weights: Box<[f32]>,
    /// A bit for each edge. Only the worker that has the rows uses it, so nothing is ordered by it.
    seen: Box<[AtomicU64]>,
}

/// The edges of one vertex, each neighbour once: first those that are shorter than a bucket is wide, then the others,
/// both in the order of neighbours. Loops are left out, and so are all but the lightest of several edges to one
/// neighbour.
#[derive(Debug, Default)]
pub struct Row {
    /// None of a vertex without edges.
    block: Option<Arc<Block>>,
    first: u32,
    length: u32,
    /// How many edges come first.
    light: u32,
    /// How often the vertex is an end of an edge of the input, loops and multiple edges with it.
    ends: u32,
}

impl Row {
    /// Those of the light edges come first.
    pub fn neighbours(&self) -> &[u32] {
        let (first, length) = (self.first as usize, self.length as usize);
        self.block.as_ref().map_or(&[], |block| &block.neighbours[first..first + length])
    }

    fn weights(&self) -> &[f32] {
        let (first, length) = (self.first as usize, self.length as usize);
        self.block.as_ref().map_or(&[], |block| &block.weights[first..first + length])
    }

    /// The neighbours, and how far each is.
    pub fn edges(&self) -> impl Iterator<Item = (u32, f32)> {
        self.neighbours().iter().copied().zip(self.weights().iter().copied())
    }

    /// The edges that are shorter than a bucket is wide.
    pub fn light(&self) -> impl Iterator<Item = (u32, f32)> {
        let light = self.light as usize;
        self.neighbours()[..light].iter().copied().zip(self.weights()[..light].iter().copied())
    }

    /// All others.
    pub fn heavy(&self) -> impl Iterator<Item = (u32, f32)> {
        let light = self.light as usize;
        self.neighbours()[light..].iter().copied().zip(self.weights()[light..].iter().copied())
    }

    /// Where in the row a neighbour is.
    pub fn position(&self, neighbour: u32) -> Option<usize> {
        // Most edges are heavy.
        let (light, heavy) = self.neighbours().split_at(self.light as usize);
        let in_heavy = find(heavy, neighbour).map(|at| light.len() + at);
        in_heavy.or_else(|| find(light, neighbour))
    }

    pub fn weight(&self, position: usize) -> f32 {
        self.weights()[position]
    }

    /// How often the vertex is an end of an edge of the input.
    pub fn ends(&self) -> u32 {
        self.ends
    }

    /// Notes that an edge was seen.
    pub fn see(&mut self, position: usize) {
        if let Some((word, bit)) = self.bit(position) {
            word.store(word.load(Ordering::Relaxed) | bit, Ordering::Relaxed);
        }
    }

    /// Notes that the row is wrong. Nobody will use it.
    pub fn refute(&mut self) {
        self.ends = REFUTED;
    }

    /// Whether all edges were seen, and nothing was wrong.
    pub fn is_right(&self) -> bool {
        self.ends != REFUTED
            && (0..self.length as usize)
                .filter_map(|position| self.bit(position))
                .all(|(word, bit)| word.load(Ordering::Relaxed) & bit != 0)
    }

    fn bit(&self, position: usize) -> Option<(&AtomicU64, u64)> {
        let at = self.first as usize + position;
        self.block.as_ref().map(|block| (&block.seen[at / 64], 1 << (at % 64)))
    }
}

/// Where a number is in an ascending list. The search begins where it would be if all were equally far apart: names of
/// vertices are nearly so, and each step of a binary search of a long list would wait for memory.
fn find(list: &[u32], number: u32) -> Option<usize> {
    let (first, last) = (*list.first()?, *list.last()?);
    if number < first || number > last {
        return None;
    }
    let (above, span) = (u64::from(number - first), u64::from(last - first).max(1));
    let guess = (above * (list.len() as u64 - 1) / span) as usize;
    // The number, if it is there, is in `begin..end`.
    let (mut begin, mut end, mut step) = (guess, guess + 1, 8);
    while list[begin] > number {
        (begin, end, step) = (begin.saturating_sub(step), begin, 2 * step);
    }
    while end < list.len() && list[end] <= number {
        (begin, end, step) = (end, list.len().min(end + step), 2 * step);
    }
    list[begin..end].binary_search(&number).ok().map(|at| begin + at)
}

/// Makes the rows of some vertices.
#[derive(Debug, Default)]
pub struct Rows {
    neighbours: Vec<u32>,
    weights: Vec<f32>,
    rows: Vec<Row>,
}

impl Rows {
    /// The row of the next vertex, from the edges that have an end there, which are used up. A loop is listed once.
    pub fn add(&mut self, vertex: u32, list: &mut Vec<End>, delta: f32) {
        let loops = list.iter().filter(|end| end.to() == vertex).count();
        let ends = (list.len() + loops) as u32;
        list.retain(|end| end.to() != vertex);
        list.sort_unstable();
        list.dedup_by_key(|end| end.to());
        let first = self.neighbours.len() as u32;
        let mut light = 0;
        for is_light in [true, false] {
            for end in list.iter().filter(|end| (end.weight() < delta) == is_light) {
                self.neighbours.push(end.to());
                self.weights.push(end.weight());
                light += u32::from(is_light);
            }
        }
        self.rows.push(Row { block: None, first, length: list.len() as u32, light, ends });
    }

    /// The rows, in their order.
    pub fn finish(self) -> impl Iterator<Item = Row> {
        let words = self.neighbours.len().div_ceil(64);
        let block = Arc::new(Block {
            neighbours: self.neighbours.into(),
            weights: self.weights.into(),
            seen: (0..words).map(|_| AtomicU64::new(0)).collect(),
        });
        self.rows.into_iter().map(move |row| {
            let block = (row.length > 0).then(|| Arc::clone(&block));
            Row { block, ..row }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_wherever_it_is_in_a_list() {
        let squares: Vec<u32> = (0..100).map(|number| number * number).collect();
        let crowded: Vec<u32> = (0..50).chain([1000, u32::MAX - 1, u32::MAX]).collect();
        for list in [squares, crowded, vec![7], vec![0, u32::MAX], Vec::new()] {
            let numbers =
                list.iter().flat_map(|number| [number.wrapping_sub(1), *number, number.wrapping_add(1)]);
            for number in numbers.chain([0, 5000]) {
                assert_eq!(find(&list, number), list.binary_search(&number).ok(), "{number}");
            }
        }
    }

    #[test]
    fn a_row_has_each_neighbour_once_by_the_lightest_edge_and_light_ones_first() {
        let mut rows = Rows::default();
        let mut add = |vertex, edges: &[(u32, f32)]| {
            let mut list = edges.iter().map(|(to, weight)| End::new(*to, *weight)).collect();
            rows.add(vertex, &mut list, 0.5);
        };
        add(2, &[(2, 0.5)]);
        add(3, &[(9, 0.25), (5, 0.5), (1, 0.75), (3, 0.0), (5, 0.125), (7, 1.0)]);
        add(4, &[(8, 0.5)]);
        let [alone, mut row, other] = rows.finish().collect::<Vec<_>>().try_into().unwrap();
        assert_eq!(row.light().collect::<Vec<_>>(), [(5, 0.125), (9, 0.25)]);
        assert_eq!(row.heavy().collect::<Vec<_>>(), [(1, 0.75), (7, 1.0)]);
        assert_eq!(row.edges().collect::<Vec<_>>(), [(5, 0.125), (9, 0.25), (1, 0.75), (7, 1.0)]);
        assert_eq!(row.neighbours(), [5, 9, 1, 7]);
        assert_eq!([9, 1, 3, 8].map(|neighbour| row.position(neighbour)), [Some(1), Some(2), None, None]);
        assert_eq!(other.edges().collect::<Vec<_>>(), [(8, 0.5)]);
        assert_eq!(alone.edges().count() + alone.light().count() + alone.heavy().count(), 0);
        // A loop is two of them.
        assert_eq!([alone.ends(), row.ends(), other.ends()], [2, 7, 1]);
        (0..4).for_each(|position| row.see(position));
        assert_eq!([alone.is_right(), row.is_right(), other.is_right()], [true, true, false]);
        assert_eq!(size_of::<Row>(), 24);
    }
}
