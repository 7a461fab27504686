//! Random graphs like those of the Graph500 benchmark: Kronecker graphs, with lengths of edges.

use gossamer::NoRef;
use gossamer::collections::{DistVec, par_emit};

/// A graph of 2^scale vertices, with 16 edges for each, which go both ways. Each edge is a function of its number, so
/// any worker can make any edge.
#[derive(Clone, Copy, NoRef)]
pub struct Kronecker {
    pub scale: u32,
}

impl Kronecker {
    pub fn vertices(self) -> usize {
        1 << self.scale
    }

    pub fn edges(self) -> u64 {
        16 << self.scale
    }

    /// Both ends of an edge, and its length, below 1.
    pub fn edge(self, number: u64) -> (u32, u32, f32) {
        // The quarters of the adjacency matrix have 0.57, 0.19, 0.19 and 0.05 of the edges, and so have the quarters of each.
        const UPPER: f64 = 0.57 + 0.19;
        const LEFT_OF_UPPER: f64 = 0.57 / UPPER;
        const LEFT_OF_LOWER: f64 = 0.19 / (1.0 - UPPER);
        let (mut from, mut to, mut random) = (0, 0, mixed(number ^ 0x5eed << 40));
        let mut fraction = || {
            random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
            (mixed(random) >> 40) as f64 / (1 << 24) as f64
        };
        for bit in 0..self.scale {
            let is_lower = fraction() >= UPPER;
            let is_right = fraction() >= if is_lower { LEFT_OF_LOWER } else { LEFT_OF_UPPER };
            from |= u64::from(is_lower) << bit;
            to |= u64::from(is_right) << bit;
        }
        (self.renamed(from), self.renamed(to), fraction() as f32)
    }

    /// Another name for a vertex, so that vertices with many edges are everywhere.
    fn renamed(self, vertex: u64) -> u32 {
        let mask = self.vertices() as u64 - 1;
        let rename = |vertex: u64, factor: u64| {
            let vertex = vertex.wrapping_mul(factor) & mask;
            vertex ^ vertex >> (self.scale / 2 + 1)
        };
        rename(rename(vertex, 0x9e37_79b9_7f4a_7c15), 0xbf58_476d_1ce4_e5b9) as u32
    }

    /// Workers share out the edges, and send both ends of each to the rows they belong to.
    #[gossamer::delegate]
    pub fn rows(self) -> DistVec<Vec<(u32, f32)>> {
        let rows = DistVec::from_fn(self.vertices(), const { |_| Vec::new() });
        let graph = self;
        par_emit(0..self.edges() as usize, |number, out| {
            let (from, to, length) = graph.edge(number as u64);
            if from != to {
                out.push(from as usize, (to, length));
                out.push(to as usize, (from, length));
            }
        })
        .apply_to(&rows, |row: &mut Vec<_>, edge| row.push(edge));
        // In whatever order they arrived.
        rows.par_for_each(
            const {
                |_, row: &mut Vec<(u32, f32)>| {
                    row.sort_unstable_by(|one, other| one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)));
                    row.shrink_to_fit();
                }
            },
        );
        rows
    }
}

/// The mixing function of SplitMix64.
fn mixed(number: u64) -> u64 {
    let z = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
