//! Sparse matrices: transposing one, and changing the order of its rows and columns.

use crate::exchange::Exchange;
use crate::inputs::{self, Rows};
use lamellar::active_messaging::prelude::*;
use lamellar::array::prelude::*;
use lamellar::darc::prelude::*;
use std::ops::Range;
use std::time::Instant;

/// The lines that a process has.
pub fn own_part(world: &LamellarWorld, size: usize) -> Range<usize> {
    let each = size.div_ceil(world.num_pes());
    (world.my_pe() * each).min(size)..((world.my_pe() + 1) * each).min(size)
}

/// Rows that are filled together: what they need fits a processor's own cache.
const BLOCK: usize = 1 << 13;

/// Rows with their elements: a counting sort, block by block.
fn filled_rows(count: usize, elements: &[(u32, u32)]) -> Rows {
    let share = elements.len() / count.div_ceil(BLOCK).max(1);
    let list = || Vec::with_capacity(share + share / 16);
    let mut blocks: Vec<_> = (0..count.div_ceil(BLOCK)).map(|_| list()).collect();
    for (row, column) in elements {
        blocks[*row as usize / BLOCK].push((*row, *column));
    }
    let (mut rows, mut sorted) = (Rows::with_capacity(count), Vec::new());
    for elements in blocks {
        let block = BLOCK.min(count - rows.len());
        // Where each row starts, and in the end where it ends.
        let mut places = vec![0_u32; block + 1];
        elements.iter().for_each(|(row, _)| places[*row as usize % BLOCK + 1] += 1);
        (1..places.len()).for_each(|row| places[row] += places[row - 1]);
        sorted.resize(elements.len(), 0);
        for (row, column) in elements {
            let place = &mut places[row as usize % BLOCK];
            sorted[*place as usize] = column;
            *place += 1;
        }
        let mut start = 0;
        for end in places.into_iter().take(block) {
            let end = end as usize;
            sorted[start..end].sort_unstable();
            rows.push(sorted[start..end].to_vec());
            start = end;
        }
    }
    rows
}

/// A process's rows of a transposed matrix, of which it had these.
pub fn transposed(exchange: &mut Exchange<'_>, own: Range<usize>, matrix: &Rows) -> Rows {
    for (index, row) in own.clone().zip(matrix) {
        row.iter().for_each(|column| exchange.push(*column, index as u32));
    }
    filled_rows(own.len(), &exchange.finish())
}

pub fn transpose(world: &LamellarWorld, size: usize) -> f64 {
    let own = own_part(world, size);
    let matrix = inputs::matrix(own.clone(), size);
    let mut exchange = Exchange::new(world, size);
    let start = Instant::now();
    let rows = transposed(&mut exchange, own.clone(), &matrix);
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let mut expected = vec![Vec::new(); own.len()];
    for (index, row) in (0..).zip(inputs::matrix(0..size, size)) {
        let here = row.into_iter().map(|column| column as usize).filter(|column| own.contains(column));
        here.for_each(|column| expected[column - own.start].push(index));
    }
    assert!(rows == expected, "each element is where it belongs");
    elapsed
}

/// Rows on their way to where they belong, each with its place there.
#[AmData(Debug, Clone)]
struct Place {
    placed: LocalRwDarc<Vec<Vec<u32>>>,
    rows: Vec<(u32, Vec<u32>)>,
}

#[am]
impl LamellarAM for Place {
    async fn exec(self) {
        let mut placed = self.placed.write().await;
        for (place, row) in &self.rows {
            placed[*place as usize] = row.clone();
        }
    }
}

/// An array of these numbers.
fn array(world: &LamellarWorld, numbers: &[u32]) -> ReadOnlyArray<u32> {
    let array = AtomicArray::<u32>::new(world, numbers.len(), Distribution::Block).block();
    world.barrier();
    let own: Vec<_> = own_part(world, numbers.len()).collect();
    array.batch_store(&own[..], &numbers[own_part(world, numbers.len())]).block();
    world.wait_all();
    world.barrier();
    array.into_read_only().block()
}

pub fn permute(world: &LamellarWorld, size: usize) -> f64 {
    const BATCH: usize = 512;
    let own = own_part(world, size);
    let matrix = inputs::matrix(own.clone(), size);
    let (rows, columns) = (inputs::permutation(size, 1), inputs::permutation(size, 2));
    let (places, names) = (array(world, &rows), array(world, &columns));
    let Ok(placed) = LocalRwDarc::new(world.team(), vec![Vec::new(); own.len()]).block() else {
        panic!("the rows cannot be made")
    };
    world.barrier();
    let start = Instant::now();
    let indices: Vec<usize> = own.clone().collect();
    let found = places.batch_load(&indices[..]).block();
    let indices: Vec<usize> = matrix.iter().flatten().map(|column| *column as usize).collect();
    let mut renamed = names.batch_load(&indices[..]).block().into_iter();
    let each = size.div_ceil(world.num_pes());
    let mut batches = vec![Vec::new(); world.num_pes()];
    let send = |to: usize, batch: &mut Vec<(u32, Vec<u32>)>| {
        let place = Place { placed: placed.clone(), rows: std::mem::take(batch) };
        let _done_by_wait_all = world.exec_am_pe(to, place).spawn();
    };
    for (place, row) in found.iter().zip(&matrix) {
        let to = *place as usize / each;
        batches[to].push((place - (to * each) as u32, renamed.by_ref().take(row.len()).collect()));
        if batches[to].len() == BATCH {
            send(to, &mut batches[to]);
        }
    }
    batches.iter_mut().enumerate().for_each(|(to, batch)| send(to, batch));
    world.wait_all();
    world.barrier();
    placed.write().block().iter_mut().for_each(|row| row.sort_unstable());
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let expected = inputs::permuted(&inputs::matrix(0..size, size), &rows, &columns);
    assert!(placed.read().block()[..] == expected[own], "each element is where it belongs");
    elapsed
}
