//! The generator of the Graph500 specification: Kronecker graphs, with weights of edges.

use crate::edges::{self, BLOCK, Edge, Edges};
use crate::progress::Progress;
use crate::random::{Random, mixed};
use gossamer::{NoRef, TeamMember, Workers};

/// The shares of the edges in the quarters of the adjacency matrix, and again in the quarters of each quarter (R-MAT:
/// Chakrabarti, Zhan and Faloutsos, 2004).
const A: f32 = 0.57;
const B: f32 = 0.19;
const C: f32 = 0.19;

/// How many edges are made before requests of others are served: this takes some hundred microseconds.
const CHUNK: u64 = 2048;

/// A graph of 2^`scale` vertices and `edgefactor` times as many edges. Each edge is a function of its number and the seed.
#[derive(Clone, Copy, Debug, NoRef)]
pub struct Kronecker {
    pub scale: u32,
    pub edgefactor: u32,
    pub seed: u64,
}

impl Kronecker {
    pub fn vertices(self) -> usize {
        1 << self.scale
    }

    pub fn edges(self) -> u64 {
        u64::from(self.edgefactor) << self.scale
    }

    /// An edge. It may be a loop, and the graph may have it several times.
    pub fn edge(self, number: u64) -> Edge {
        let mut random = Random::of(self.seed, number);
        let (mut from, mut to) = (0, 0);
        for bit in 0..self.scale {
            let is_lower = random.fraction() >= A + B;
            let share_of_left = if is_lower { C / (1.0 - A - B) } else { A / (A + B) };
            let is_right = random.fraction() >= share_of_left;
            from |= u64::from(is_lower) << bit;
            to |= u64::from(is_right) << bit;
        }
        Edge { from: self.scrambled(from), to: self.scrambled(to), weight: random.fraction() }
    }

    /// Another name for a vertex, so that its number reveals nothing. It is a permutation, made of steps that can each
    /// be undone.
    fn scrambled(self, vertex: u64) -> u32 {
        let mask = self.vertices() as u64 - 1;
        let step = |vertex: u64, key: u64| {
            // Odd factors can be undone, whatever the number of bits.
            let vertex = (vertex ^ (key >> 32)).wrapping_mul(key | 1) & mask;
            vertex ^ vertex >> (self.scale / 2 + 1)
        };
        let keys = [1, 2, 3].map(|round| mixed(mixed(self.seed) ^ round));
        (keys.into_iter().fold(vertex & mask, step) & mask) as u32
    }

    /// All edges; each worker makes its own part.
    pub fn generate(self, progress: &Progress) -> Edges {
        let make = const {
            |member: &TeamMember, (graph, lists, progress): (Self, Edges, Progress)| {
                let mut own = Vec::new();
                graph.each_block(member, |block| {
                    progress.advance(block.len() as u64);
                    own.push(block);
                });
                lists.local(|lists| lists[0] = own);
            }
        };
        let lists = edges::none();
        Workers::all().each_with(make, (self, lists.clone(), progress.clone()));
        lists
    }

    /// Makes the worker's own part of the edges, block by block.
    pub fn each_block(self, member: &TeamMember, mut each: impl FnMut(Vec<Edge>)) {
        let share = |index: usize| (u128::from(self.edges()) * index as u128 / member.count() as u128) as u64;
        let (mut next, end) = (share(member.index()), share(member.index() + 1));
        while next < end {
            let blocks_end = end.min(next + BLOCK as u64);
            let mut block = Vec::with_capacity((blocks_end - next) as usize);
            while next < blocks_end {
                let chunk = next..blocks_end.min(next + CHUNK);
                next = chunk.end;
                block.extend(chunk.map(|number| self.edge(number)));
                gossamer::yield_now();
            }
            each(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    const GRAPH: Kronecker = Kronecker { scale: 12, edgefactor: 16, seed: 7 };

    #[test]
    fn each_vertex_has_one_other_name() {
        for scale in 1..=12 {
            let graph = Kronecker { scale, ..GRAPH };
            let names: HashSet<u32> = (0..1 << scale).map(|vertex| graph.scrambled(vertex)).collect();
            assert_eq!(names.len(), 1 << scale);
            assert!(names.iter().all(|name| *name < 1 << scale));
        }
    }

    #[test]
    fn the_quarters_of_the_matrix_have_their_shares() {
        // Without other names.
        let names: Vec<u64> = {
            let mut original = vec![0; GRAPH.vertices()];
            (0..GRAPH.vertices() as u64)
                .for_each(|vertex| original[GRAPH.scrambled(vertex) as usize] = vertex);
            original
        };
        let mut quarters = [0_u32; 4];
        for number in 0..GRAPH.edges() {
            let edge = GRAPH.edge(number);
            assert!((0.0..1.0).contains(&edge.weight));
            let [row, column] = [edge.from, edge.to].map(|vertex| names[vertex as usize] as usize >> 11);
            quarters[2 * row + column] += 1;
        }
        for (count, share) in quarters.into_iter().zip([0.57, 0.19, 0.19, 0.05]) {
            assert!((f64::from(count) / GRAPH.edges() as f64 - share).abs() < 0.01, "{quarters:?}");
        }
    }

    #[test]
    fn a_seed_makes_its_own_graph_and_the_same_each_time() {
        let edges =
            |seed| (0..100).map(|number| Kronecker { seed, ..GRAPH }.edge(number)).collect::<Vec<_>>();
        assert_eq!(edges(1), edges(1));
        assert_ne!(edges(1), edges(2));
    }
}
