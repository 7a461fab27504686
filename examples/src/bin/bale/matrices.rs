//! Sparse matrices, each row of which lists the columns that are not empty: transposing one, and changing the order of
//! its rows and columns.

use crate::vectors::random_permutation;
use crate::{random, timed};
use gossamer::collections::DistVec;
use gossamer::{TeamMember, Workers};
use std::time::Duration;

pub type Matrix = DistVec<Vec<u32>>;

/// A matrix with this many rows and columns, and up to eight elements in a row.
pub fn random_matrix(size: usize) -> Matrix {
    let row = const {
        |index: usize, size: &usize| {
            let mut row: Vec<_> =
                (0..random(1, index, 9)).map(|edge| random(2 + edge, index, *size) as u32).collect();
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

/// Rows that are filled together: what they need fits a processor's own cache.
const BLOCK: usize = 1 << 13;
/// What one worker has for another: for each block of its rows the elements by row, counted from the worker's first
/// one, and column. Those of each row are in order.
type Arrived = Vec<Vec<(u32, u32)>>;
/// Rows that are looked at before the worker serves others.
const ROWS_AT_ONCE: usize = 4096;

/// The matrix with rows for columns. A worker gets the elements of its rows from each worker, and puts them where they
/// belong when all are there: a row that grew with each element would be moved again and again.
pub fn transposed(matrix: &Matrix) -> Matrix {
    let transposed = DistVec::from_fn(matrix.len(), const { |_| Vec::new() });
    let workers = Workers::all().trustees().len();
    let arrived = DistVec::filled(workers * workers, Arrived::new());
    let send = const {
        |member: &TeamMember, (matrix, transposed, arrived): (Matrix, Matrix, DistVec<Arrived>)| {
            let (workers, each) = (member.count(), matrix.len().div_ceil(member.count()) as u32);
            let blocks = (each as usize).div_ceil(BLOCK);
            let counted = matrix.local(|rows| (rows.len(), rows.iter().map(Vec::len).sum::<usize>()));
            let (rows, elements) = counted.unwrap_or_default();
            // If they are spread evenly, or nearly so, no list is moved when it grows.
            let share = elements / (workers * blocks).max(1);
            let list = || Vec::with_capacity(share + share / 16);
            let mut lists: Vec<Arrived> =
                (0..workers).map(|_| (0..blocks).map(|_| list()).collect()).collect();
            for first in (0..rows).step_by(ROWS_AT_ONCE) {
                matrix.local(|rows| {
                    let some = &rows[first..rows.len().min(first + ROWS_AT_ONCE)];
                    for (column, row) in (rows.index_of(first) as u32..).zip(some) {
                        for row in row {
                            let (to, row) = (row / each, row % each);
                            lists[to as usize][row as usize / BLOCK].push((row, column));
                        }
                    }
                });
            }
            let place = |to| to * workers + member.index();
            let lists = lists.into_iter().enumerate();
            let sent: Vec<_> = lists.map(|(to, lists)| arrived.set_async(place(to), lists)).collect();
            sent.into_iter().for_each(|sent| sent.wait());
            member.barrier();
            let arrived = arrived.local(|lists| lists.iter_mut().map(std::mem::take).collect::<Vec<_>>());
            transposed.local(|rows| fill_rows(rows, arrived.unwrap_or_default()));
        }
    };
    Workers::all().each_with(send, (matrix.clone(), transposed.clone(), arrived));
    transposed
}

/// Fills rows with their elements, block by block: a counting sort. What each worker has sent is in order, and so are
/// the workers. What was sent of a block is freed before its rows are allocated.
fn fill_rows(rows: &mut [Vec<u32>], arrived: Vec<Arrived>) {
    let mut arrived: Vec<_> = arrived.into_iter().map(Vec::into_iter).collect();
    let (mut places, mut sorted) = (Vec::new(), Vec::new());
    for rows in rows.chunks_mut(BLOCK) {
        let lists: Vec<_> = arrived.iter_mut().filter_map(Iterator::next).collect();
        // Where each row starts, and in the end where it ends.
        places.clear();
        places.resize(rows.len() + 1, 0_u32);
        lists.iter().flatten().for_each(|(row, _)| places[*row as usize % BLOCK + 1] += 1);
        (1..places.len()).for_each(|row| places[row] += places[row - 1]);
        sorted.resize(places[rows.len()] as usize, 0);
        lists.iter().flatten().for_each(|(row, column)| {
            let place = &mut places[*row as usize % BLOCK];
            sorted[*place as usize] = *column;
            *place += 1;
        });
        drop(lists);
        let mut start = 0;
        for (row, end) in rows.iter_mut().zip(&places) {
            *row = sorted[start..*end as usize].to_vec();
            start = *end as usize;
        }
    }
}

/// The element in row `i` and column `j` moves to row `rows[i]` and column `columns[j]`.
pub fn permuted(matrix: &Matrix, rows: &DistVec<u32>, columns: &DistVec<u32>) -> Matrix {
    let permuted = DistVec::from_fn(matrix.len(), const { |_| Vec::new() });
    let send = const {
        |_: &TeamMember, (matrix, rows, columns, permuted): (Matrix, DistVec<u32>, DistVec<u32>, Matrix)| {
            let (mut own, mut elements) = (Vec::new(), Vec::new());
            matrix.local(|rows| {
                for (index, row) in rows.indexed() {
                    own.push((index, row.len()));
                    elements.extend_from_slice(row);
                }
            });
            let places = rows.gather(own.iter().map(|(index, _)| *index));
            let mut renamed = columns.gather(elements.iter().map(|column| *column as usize)).into_iter();
            let renamed = own.iter().map(|(_, len)| renamed.by_ref().take(*len).collect());
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
