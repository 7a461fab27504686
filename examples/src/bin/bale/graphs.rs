//! Counting triangles, and a topological sort.

use crate::matrices::{Matrix, permuted, random_matrix, transposed};
use crate::vectors::random_permutation;
use crate::{random, timed};
use gossamer::collections::{DistVec, Frontier};
use gossamer::{NoRef, TeamMember, Workers};
use std::time::Duration;

/// A triangle is three vertices with an edge between any two. Each row of the graph has the neighbours with lower
/// numbers; the middle vertex is asked whether it has an edge to the lowest.
pub fn triangles(size: usize) -> (String, Duration) {
    // Many neighbours, so that there are triangles.
    let near = const {
        |vertex: usize, ()| {
            let mut row: Vec<_> =
                (0..vertex.min(8)).map(|edge| random(edge, vertex, vertex.min(30))).collect();
            row.sort_unstable();
            row.dedup();
            (row.into_iter().map(|back| (vertex - back - 1) as u32).rev().collect::<Vec<_>>(), 0_u64)
        }
    };
    type Vertices = DistVec<(Vec<u32>, u64)>;
    let vertices = DistVec::from_fn_with(size, near, ());
    let count = const {
        |_: &TeamMember, vertices: Vertices| {
            let mut ask = vertices.updates(
                const {
                    |(row, triangles): &mut (Vec<u32>, u64), lowest: u32| {
                        *triangles += u64::from(row.binary_search(&lowest).is_ok());
                    }
                },
            );
            let rows = vertices.local(|vertices| vertices.iter().map(|(row, _)| row.clone()).collect());
            let rows: Vec<Vec<u32>> = rows.unwrap_or_default();
            for row in rows {
                for (at, middle) in row.iter().enumerate() {
                    ask.extend(row[..at].iter().map(|lowest| (*middle as usize, *lowest)));
                }
            }
            ask.finish();
        }
    };
    let (_, elapsed) = timed(|| Workers::all().each_with(count, vertices.clone()));

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

/// A row of a matrix, or a column.
#[derive(Clone, Copy, NoRef)]
struct Line {
    /// Of a row: how many columns are left in it, and their sum, which is the last one in the end. Of a column: 2,
    /// until it is taken.
    left: u32,
    sum: u64,
    /// The round in which it was taken.
    round: u32,
}

/// Finds an order of rows and columns that makes a matrix upper triangular, if there is one. A row with one column left
/// is taken together with this column, which then is no longer left in any other row.
pub fn topological_sort(size: usize) -> (String, Duration) {
    let matrix = mixed_triangular(size);
    let (lines, elapsed) = timed(|| taken(&matrix));
    let (matrix, lines) = (matrix.to_vec(), lines.to_vec());
    let (rows, columns) = lines.split_at(size);
    let mut seen = vec![false; size];
    for (row, line) in matrix.iter().zip(rows) {
        assert!(line.left == 0 && line.round > 0, "each row is taken");
        // By now the sum no longer contains the row's own column, which was taken in the next round.
        let own = row.iter().filter(|column| columns[**column as usize].round == line.round + 1);
        let own: Vec<_> = own.filter(|column| !seen[**column as usize]).collect();
        let later = row.iter().filter(|column| columns[**column as usize].round > line.round + 1).count();
        assert!(later == 0 && !own.is_empty(), "all columns of a row but its own were taken before");
        own.into_iter().take(1).for_each(|column| seen[*column as usize] = true);
    }
    assert!(seen.into_iter().all(|seen| seen), "each column belongs to a row");
    let rounds = rows.iter().map(|row| row.round.div_ceil(2)).max().unwrap_or(0);
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

/// When each row of a matrix was taken, followed by when each column was.
#[gossamer::delegate]
fn taken(matrix: &Matrix) -> DistVec<Line> {
    let of_columns = transposed(matrix).to_vec();
    let size = matrix.len();

    let in_rows = |row: &Vec<u32>| Line {
        left: row.len() as u32,
        sum: row.iter().map(|column| u64::from(*column)).sum(),
        round: 0,
    };
    let rows = matrix.to_vec();
    let lines = rows.iter().map(in_rows).chain(rows.iter().map(|_| Line { left: 2, sum: 0, round: 0 }));
    let lines = DistVec::from_vec(2 * size, lines.collect());
    let neighbours = DistVec::from_vec(2 * size, rows.iter().map(|_| Vec::new()).chain(of_columns).collect());
    let mut front = Frontier::of(&lines);
    for (index, _) in rows.iter().enumerate().filter(|(_, row)| row.len() == 1) {
        lines.update(index, |line| line.round = 1);
        front.mark(index);
    }
    let mut round = 1;
    while front.swap() > 0 {
        round += 1;
        front
            .par_for_each(&neighbours, |index, line, rows, out| {
                if index < size {
                    out.push(size + line.sum as usize, 0);
                } else {
                    rows.iter().for_each(|row: &u32| out.push(*row as usize, (index - size) as u64));
                }
            })
            .apply(|line, column, next| {
                line.left -= 1;
                line.sum -= column;
                if line.left == 1 {
                    line.round = round;
                    next.mark();
                }
            });
    }
    lines
}
