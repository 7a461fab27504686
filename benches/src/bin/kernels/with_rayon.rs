//! On rayon. What threads share are atomics, too.

use crate::inputs::{self, Rows, random};
use crate::plain::{Lines, atomics, plain, triangles_of};
use crate::{Done, Input, checks};
use benches::rounds::timed;
use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const FREE: u32 = u32::MAX;

pub fn histogram(input: &Input) -> Done {
    let Input { size: updates, elements: len, threads } = *input;
    let counts = atomics(len, 0);
    let ((), seconds) = timed(|| {
        (0..threads * updates).into_par_iter().for_each(|number| {
            counts[random(number / updates, number % updates, len)].fetch_add(1, Relaxed);
        });
    });
    checks::histogram(&plain(counts), updates, threads);
    (updates * threads, seconds)
}

pub fn gather(input: &Input) -> Done {
    let Input { size: look_ups, elements: len, threads } = *input;
    let table: Vec<_> = (0..len).map(|index| 3 * index as u64 + 1).collect();
    let look_up =
        |thread| (0..look_ups).into_par_iter().map(|number| table[random(thread, number, len)]).collect();
    let (found, seconds): (Vec<Vec<u64>>, f64) = timed(|| (0..threads).map(look_up).collect());
    checks::gather(&found, look_ups, len);
    (look_ups * threads, seconds)
}

pub fn permutation(input: &Input) -> Done {
    let size = input.size;
    let places = atomics(2 * size, FREE);
    let (numbers, seconds) = timed(|| {
        (0..size).into_par_iter().for_each(|number| {
            let hits = |round: &usize| {
                let place = &places[random(*round, number, places.len())];
                place.compare_exchange(FREE, number as u32, Relaxed, Relaxed).is_ok()
            };
            let _round = (1..).find(hits);
        });
        let numbers = places.par_iter().map(|place| place.load(Relaxed));
        numbers.filter(|number| *number != FREE).collect::<Vec<_>>()
    });
    checks::permutation(numbers, size);
    (size, seconds)
}

pub fn permute(input: &Input) -> Done {
    let size = input.size;
    let (matrix, rows, columns) =
        (inputs::matrix(0..size, size), inputs::permutation(size, 1), inputs::permutation(size, 2));
    let sources = atomics(size, 0);
    let (permuted, seconds) = timed(|| {
        rows.par_iter()
            .enumerate()
            .for_each(|(row, place)| sources[*place as usize].store(row as u32, Relaxed));
        let permuted = |source: &AtomicU32| {
            let source = &matrix[source.load(Relaxed) as usize];
            let mut row: Vec<_> = source.iter().map(|column| columns[*column as usize]).collect();
            row.sort_unstable();
            row
        };
        sources.par_iter().map(permuted).collect::<Vec<_>>()
    });
    checks::permute(&permuted, &matrix, &rows, &columns);
    (checks::elements(&matrix), seconds)
}

fn transposed(matrix: &Rows) -> Rows {
    let places = atomics(matrix.len() + 1, 0);
    matrix.par_iter().flatten_iter().for_each(|column| {
        places[*column as usize + 1].fetch_add(1, Relaxed);
    });
    let mut sum = 0;
    for place in &places {
        sum += place.load(Relaxed);
        place.store(sum, Relaxed);
    }
    let elements = atomics(sum as usize, 0);
    matrix.par_iter().enumerate().for_each(|(index, row)| {
        for column in row {
            let place = places[*column as usize].fetch_add(1, Relaxed);
            elements[place as usize].store(index as u32, Relaxed);
        }
    });
    let end = |row: usize| places[row].load(Relaxed) as usize;
    let row = |row: usize| {
        let start = row.checked_sub(1).map_or(0, end);
        let mut row: Vec<_> = elements[start..end(row)].iter().map(|element| element.load(Relaxed)).collect();
        row.sort_unstable();
        row
    };
    (0..matrix.len()).into_par_iter().map(row).collect()
}

pub fn transpose(input: &Input) -> Done {
    let size = input.size;
    let matrix = inputs::matrix(0..size, size);
    let (transposed, seconds) = timed(|| transposed(&matrix));
    checks::transpose(&transposed, &matrix);
    (checks::elements(&matrix), seconds)
}

pub fn triangles(input: &Input) -> Done {
    let size = input.size;
    let graph = inputs::graph(0..size);
    let (found, seconds) = timed(|| graph.par_iter().map(|row| triangles_of(&graph, row)).sum());
    checks::triangles(found, &graph);
    (checks::questions(&graph), seconds)
}

pub fn topological_sort(input: &Input) -> Done {
    let size = input.size;
    let matrix = inputs::mixed_triangular(size);
    let lines = Lines::new(size);
    let (taken, seconds) = timed(|| {
        let columns = transposed(&matrix);
        let mut front: Vec<u32> = (0..size as u32)
            .into_par_iter()
            .filter(|row| lines.begin(*row as usize, &matrix[*row as usize]))
            .collect();
        let mut taken = Vec::new();
        for round in 1.. {
            if front.is_empty() {
                break;
            }
            let take = |row: &u32| {
                let mut next = Vec::new();
                (lines.take(*row, round, |column| columns[column].iter().copied(), &mut next), next)
            };
            let (some, next): (Vec<_>, Vec<_>) = front.par_iter().map(take).unzip();
            taken.extend(some);
            front = next.concat();
        }
        taken
    });
    lines.check(&taken, &matrix);
    (checks::elements(&matrix), seconds)
}
