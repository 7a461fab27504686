//! Counting triangles, and a topological sort.

use crate::matrices::{Matrix, permuted, random_matrix, transposed};
use crate::vectors::random_permutation;
use crate::{random, timed};
use gossamer::NoRef;
use gossamer::collections::{DistVec, Frontier};
use std::time::Duration;

/// A triangle is three vertices with an edge between any two. Each row of the graph has the neighbours with lower
/// numbers; the middle vertex is asked whether it has an edge to the lowest.
pub fn triangles(size: usize) -> (String, Duration) {
    // Many neighbours, so that there are triangles.
    let near = const {
        |vertex: usize, (): &()| {
            let mut row: Vec<_> =
                (0..vertex.min(8)).map(|edge| random(edge, vertex, vertex.min(30))).collect();
            row.sort_unstable();
            row.dedup();
            (row.into_iter().map(|back| (vertex - back - 1) as u32).rev().collect::<Vec<_>>(), 0_u64)
        }
    };
    let vertices: DistVec<(Vec<u32>, u64)> = DistVec::from_fn_with(size, near, ());
    let (_, elapsed) = timed(|| count_triangles(&vertices));

    let vertices = vertices.to_vec();
    let mut expected = 0;
    for (row, _) in &vertices {
        for middle in row {
            let lower = &vertices[*middle as usize].0;
            expected += lower.iter().filter(|lowest| row.contains(lowest)).count() as u64;
        }
    }
    let found: u64 = vertices.iter().map(|(_, triangles)| triangles).sum();
    assert_eq!(found, expected, "the number of triangles");
    (format!("{found} triangles among {size} vertices"), elapsed)
}

#[gossamer::delegate]
fn count_triangles(vertices: &DistVec<(Vec<u32>, u64)>) {
    vertices
        .par_emit(|_, (row, _), out| {
            for (at, middle) in row.iter().enumerate() {
                out.extend(row[..at].iter().map(|lowest| (*middle as usize, *lowest)));
            }
        })
        .apply_to(vertices, |(row, triangles), lowest| {
            *triangles += u64::from(row.binary_search(&lowest).is_ok());
        });
}

/// A row and a column of a matrix, those with the same number.
#[derive(Clone, Copy, NoRef)]
struct Lines {
    /// How many columns are left in the row, and their sum, which is the last one in the end.
    left: u32,
    sum: u64,
    /// The round in which the row was taken, and that of the column.
    row_taken: u32,
    column_taken: u32,
}

/// Finds an order of rows and columns that makes a matrix upper triangular, if there is one. A row with one column left
/// is taken together with this column, which then is no longer left in any other row.
pub fn topological_sort(size: usize) -> (String, Duration) {
    let matrix = mixed_triangular(size);
    let (lines, elapsed) = timed(|| taken(&matrix));
    let (matrix, lines) = (matrix.to_vec(), lines.to_vec());
    let mut seen = vec![false; size];
    for (row, line) in matrix.iter().zip(&lines) {
        assert!(line.left == 0 && line.row_taken > 0, "each row is taken");
        let taken = |column: &u32| lines[*column as usize].column_taken;
        let own: Vec<_> = row.iter().filter(|column| taken(column) == line.row_taken).collect();
        let later = row.iter().filter(|column| taken(column) > line.row_taken).count();
        assert!(later == 0 && own.len() == 1, "all columns of a row but its own were taken before");
        seen[*own[0] as usize] = true;
    }
    assert!(seen.into_iter().all(|seen| seen), "each column belongs to a row");
    let rounds = lines.iter().map(|line| line.row_taken).max().unwrap_or(0);
    (format!("{size} rows sorted in {rounds} rounds"), elapsed)
}

#[gossamer::delegate]
fn mixed_triangular(size: usize) -> Matrix {
    // Above the diagonal it has what a random matrix has there.
    let triangular = random_matrix(size);
    triangular.par_for_each(|index, row| {
        row.retain(|column| *column as usize > index);
        row.insert(0, index as u32);
    });
    permuted(&triangular, &random_permutation(size, 1), &random_permutation(size, 2))
}

/// When each row and each column of a matrix was taken.
#[gossamer::delegate]
fn taken(matrix: &Matrix) -> DistVec<Lines> {
    let columns = transposed(matrix);
    let lines = matrix.par_map(|_, row| Lines {
        left: row.len() as u32,
        sum: row.iter().map(|column| u64::from(*column)).sum(),
        row_taken: 0,
        column_taken: 0,
    });
    let mut front = Frontier::of(&lines);
    front.mark_where(|_, lines| lines.left == 1);
    let mut round = 0;
    while front.swap() > 0 {
        round += 1;
        // The marks are those of rows, each of which takes its column.
        front.par_for_each(&columns, |_, row, _, out| out.push(row.sum as usize, 0)).apply(
            |column, _, next| {
                column.column_taken = round;
                next.mark();
            },
        );
        front.swap();
        // They are those of columns.
        front
            .par_for_each(&columns, |column, _, rows, out| {
                rows.iter().for_each(|row: &u32| out.push(*row as usize, column as u64));
            })
            .apply(|row, column, next| {
                row.left -= 1;
                match row.left {
                    // The sum is still that of its own column, by which it was found.
                    0 => row.row_taken = round,
                    left => {
                        row.sum -= column;
                        if left == 1 {
                            next.mark();
                        }
                    }
                }
            });
    }
    lines
}
