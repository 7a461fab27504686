//! Whether what a kernel returns is right, and of how many operations it is.

use crate::inputs::{Rows, permuted, random};

/// # Panics
/// All of them, if it is not.
pub fn histogram(counts: &[u32], updates: usize, threads: usize) {
    let mut expected = vec![0; counts.len()];
    for thread in 0..threads {
        (0..updates).for_each(|number| expected[random(thread, number, counts.len())] += 1);
    }
    assert!(counts == expected, "each count is right");
}

pub fn gather(found: &[Vec<u64>], look_ups: usize, len: usize) {
    for (thread, found) in found.iter().enumerate() {
        let expected = (0..look_ups).map(|number| 3 * random(thread, number, len) as u64 + 1);
        assert!(expected.eq(found.iter().copied()), "each element is found where it is");
    }
}

pub fn permutation(mut numbers: Vec<u32>, size: usize) {
    numbers.sort_unstable();
    assert!(numbers.into_iter().eq(0..size as u32), "each number is there once");
}

pub fn permute(found: &Rows, matrix: &Rows, rows: &[u32], columns: &[u32]) {
    assert!(*found == permuted(matrix, rows, columns), "each element is where it belongs");
}

pub fn transpose(found: &Rows, matrix: &Rows) {
    let mut expected = vec![Vec::new(); matrix.len()];
    for (index, row) in (0..).zip(matrix) {
        row.iter().for_each(|column| expected[*column as usize].push(index));
    }
    assert!(*found == expected, "each element is where it belongs");
}

pub fn triangles(found: u64, graph: &Rows) {
    let mut expected = 0;
    for row in graph {
        for middle in row {
            let lower = &graph[*middle as usize];
            expected += lower.iter().filter(|lowest| row.contains(lowest)).count() as u64;
        }
    }
    assert_eq!(found, expected, "the number of triangles");
}

/// Rows were taken with these columns, in these rounds.
pub fn topological_sort(taken: &[(u32, u32)], rounds: &[u32], matrix: &Rows) {
    let (mut rows, mut columns): (Vec<_>, Vec<_>) = taken.iter().copied().unzip();
    for (row, own) in taken {
        let (row, round) = (&matrix[*row as usize], rounds[*own as usize]);
        assert!(row.contains(own), "a row is taken with a column of its own");
        let mut others = row.iter().filter(|column| *column != own);
        assert!(others.all(|column| rounds[*column as usize] < round), "others were taken before");
    }
    for lines in [&mut rows, &mut columns] {
        lines.sort_unstable();
        assert!(lines.iter().copied().eq(0..matrix.len() as u32), "each is taken once");
    }
}

/// How many elements there are.
pub fn elements(rows: &Rows) -> usize {
    rows.iter().map(Vec::len).sum()
}

/// How often a middle vertex is asked for an edge to a lower one.
pub fn questions(graph: &Rows) -> usize {
    graph.iter().map(|row| row.len() * row.len().saturating_sub(1) / 2).sum()
}
