//! Sparse matrices, each row of which lists the columns that are not empty: transposing one, and changing the order of
//! its rows and columns.

use crate::vectors::random_permutation;
use crate::{random, timed};
use gossamer::collections::{DistVec, Elements};
use gossamer::{TeamMember, Workers};
use std::time::Duration;

pub type Matrix = DistVec<Vec<u32>>;

/// A matrix with this many rows and columns, and up to eight elements in a row.
pub fn random_matrix(size: usize) -> Matrix {
    let row = const {
        |index: usize, size: usize| {
            let mut row: Vec<_> =
                (0..random(1, index, 9)).map(|edge| random(2 + edge, index, size) as u32).collect();
            row.sort_unstable();
            row.dedup();
            row
        }
    };
    DistVec::from_fn_with(size, row, size)
}

/// Rows that were filled in any order.
pub fn sort_rows(matrix: &Matrix) {
    matrix.par_for_each(const { |_, row: &mut Vec<u32>| row.sort_unstable() });
}

/// Elements of a matrix by row and column, as they come from one worker: those of each row in order.
type Arrived = Vec<(u32, u32)>;
/// Rows that are looked at before the worker serves others.
const ROWS_AT_ONCE: usize = 4096;

/// The matrix with rows for columns. A worker gets the elements of its rows in a list from each worker, and puts them
/// where they belong when all are there: a row that grew with each element would be moved again and again.
pub fn transposed(matrix: &Matrix) -> Matrix {
    let transposed = DistVec::from_fn(matrix.len(), const { |_| Vec::new() });
    let workers = Workers::all().trustees().len();
    let arrived = DistVec::filled(workers * workers, Arrived::new());
    let send = const {
        |member: &TeamMember, (matrix, transposed, arrived): (Matrix, Matrix, DistVec<Arrived>)| {
            let (workers, each) = (member.count(), matrix.len().div_ceil(member.count()) as u32);
            let mut lists = vec![Arrived::new(); workers];
            let rows = matrix.local(|rows| rows.len()).unwrap_or_default();
            for first in (0..rows).step_by(ROWS_AT_ONCE) {
                matrix.local(|rows| {
                    let some = &rows[first..rows.len().min(first + ROWS_AT_ONCE)];
                    for (column, row) in (rows.index_of(first) as u32..).zip(some) {
                        row.iter().for_each(|row| lists[(row / each) as usize].push((*row, column)));
                    }
                });
            }
            let place = |to| to * workers + member.index();
            let lists = lists.into_iter().enumerate();
            let sent: Vec<_> = lists.map(|(to, list)| arrived.set_async(place(to), list)).collect();
            sent.into_iter().for_each(|sent| sent.wait());
            member.barrier();
            let arrived = arrived.local(|lists| lists.iter_mut().map(std::mem::take).collect::<Vec<_>>());
            transposed.local(|rows| fill_rows(rows, &arrived.unwrap_or_default()));
        }
    };
    Workers::all().each_with(send, (matrix.clone(), transposed.clone(), arrived));
    transposed
}

/// Fills rows, which are neighbours, with their elements: a counting sort. What each worker has sent is in order, and
/// so are the workers.
fn fill_rows(rows: &mut Elements<Vec<u32>>, lists: &[Arrived]) {
    if rows.is_empty() {
        return;
    }
    let first = rows.index_of(0);
    let row_of = |element: &(u32, u32)| element.0 as usize - first;
    // Where each row starts, and in the end where it ends.
    let mut places = vec![0; rows.len() + 1];
    lists.iter().flatten().for_each(|element| places[row_of(element) + 1] += 1);
    (1..places.len()).for_each(|row| places[row] += places[row - 1]);
    let mut sorted = vec![0; places[rows.len()]];
    for element in lists.iter().flatten() {
        let place = &mut places[row_of(element)];
        sorted[*place] = element.1;
        *place += 1;
    }
    let mut start = 0;
    for (row, end) in rows.iter_mut().zip(places) {
        *row = sorted[start..end].to_vec();
        start = end;
    }
}

/// The element in row `i` and column `j` moves to row `rows[i]` and column `columns[j]`.
pub fn permuted(matrix: &Matrix, rows: &DistVec<u32>, columns: &DistVec<u32>) -> Matrix {
    let permuted = DistVec::from_fn(matrix.len(), const { |_| Vec::new() });
    let send = const {
        |_: &TeamMember, (matrix, rows, columns, permuted): (Matrix, DistVec<u32>, DistVec<u32>, Matrix)| {
            let own = matrix.local(|rows| rows.indexed().map(|(index, row)| (index, row.clone())).collect());
            let own: Vec<(usize, Vec<u32>)> = own.unwrap_or_default();
            let places = rows.gather(own.iter().map(|(index, _)| *index));
            let mut renamed =
                columns.gather(own.iter().flat_map(|(_, row)| row.iter().map(|at| *at as usize))).into_iter();
            let renamed = own.iter().map(|(_, row)| renamed.by_ref().take(row.len()).collect());
            permuted.scatter(places.into_iter().map(|place| place as usize).zip(renamed));
        }
    };
    Workers::all().each_with(send, (matrix.clone(), rows.clone(), columns.clone(), permuted.clone()));
    sort_rows(&permuted);
    permuted
}

pub fn transpose(size: usize) -> (String, Duration) {
    let matrix = random_matrix(size);
    let (transposed, elapsed) = timed(|| transposed(&matrix));
    let (rows, transposed) = (matrix.to_vec(), transposed.to_vec());
    let mut expected = vec![Vec::new(); size];
    for (index, row) in (0..).zip(&rows) {
        row.iter().for_each(|column| expected[*column as usize].push(index));
    }
    assert!(transposed == expected, "each element is where it belongs");
    (format!("{} elements in {size} rows", rows.iter().map(Vec::len).sum::<usize>()), elapsed)
}

pub fn permute(size: usize) -> (String, Duration) {
    let (rows, columns) = (random_permutation(size, 1), random_permutation(size, 2));
    let matrix = random_matrix(size);
    let (permuted, elapsed) = timed(|| permuted(&matrix, &rows, &columns));
    let permuted = permuted.to_vec();
    let (matrix, rows, columns) = (matrix.to_vec(), rows.to_vec(), columns.to_vec());
    for (row, place) in matrix.iter().zip(rows) {
        let mut expected: Vec<_> = row.iter().map(|column| columns[*column as usize]).collect();
        expected.sort_unstable();
        assert!(permuted[place as usize] == expected, "row {place} has what it is to have");
    }
    (format!("{} elements in {size} rows", permuted.iter().map(Vec::len).sum::<usize>()), elapsed)
}
