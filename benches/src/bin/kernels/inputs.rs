//! What the kernels work on: the same as in the example `bale`. `benches/lamellar` uses this file, too.

use std::ops::Range;

/// The columns of each row of a sparse matrix, or lower neighbours of each vertex of a graph.
pub type Rows = Vec<Vec<u32>>;

/// A random number below `most`, always the same for the same numbers.
pub fn random(stream: usize, number: usize, most: usize) -> usize {
    // SplitMix64.
    let z = (stream as u64) << 40 ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Its upper bits choose: a remainder would cost more than what is done with it.
    ((u128::from(z ^ (z >> 31)) * most as u128) >> 64) as usize
}

/// These rows of a matrix that has `size` of them, and as many columns, and up to eight elements in a row.
pub fn matrix(own: Range<usize>, size: usize) -> Rows {
    let row = |index| {
        let edges = 0..random(1, index, 9);
        let mut row: Vec<_> = edges.map(|edge| random(2 + edge, index, size) as u32).collect();
        row.sort_unstable();
        row.dedup();
        row
    };
    own.map(row).collect()
}

/// The numbers below `size` in a random order.
pub fn permutation(size: usize, stream: usize) -> Vec<u32> {
    let mut numbers: Vec<_> = (0..size as u32).collect();
    numbers.sort_by_cached_key(|number| (random(stream, *number as usize, usize::MAX), *number));
    numbers
}

/// The element in row `i` and column `j` moves to row `rows[i]` and column `columns[j]`.
pub fn permuted(matrix: &Rows, rows: &[u32], columns: &[u32]) -> Rows {
    let mut permuted = vec![Vec::new(); matrix.len()];
    for (row, place) in matrix.iter().zip(rows) {
        let mut row: Vec<_> = row.iter().map(|column| columns[*column as usize]).collect();
        row.sort_unstable();
        permuted[*place as usize] = row;
    }
    permuted
}

/// An upper triangular matrix whose rows and columns were brought into a random order.
pub fn mixed_triangular(size: usize) -> Rows {
    let mut triangular = matrix(0..size, size);
    for (index, row) in triangular.iter_mut().enumerate() {
        row.retain(|column| *column as usize > index);
        row.insert(0, index as u32);
    }
    permuted(&triangular, &permutation(size, 1), &permutation(size, 2))
}

/// These vertices of a graph with many triangles.
pub fn graph(own: Range<usize>) -> Rows {
    let row = |vertex: usize| {
        let mut row: Vec<_> = (0..vertex.min(8)).map(|edge| random(edge, vertex, vertex.min(30))).collect();
        row.sort_unstable();
        row.dedup();
        row.into_iter().map(|back| (vertex - back - 1) as u32).rev().collect()
    };
    own.map(row).collect()
}
