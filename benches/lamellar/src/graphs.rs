//! Counting triangles, and a topological sort.

use crate::exchange::Exchange;
use crate::inputs;
use crate::matrices::{own_part, transposed};
use lamellar::active_messaging::prelude::*;
use lamellar::array::prelude::*;
use lamellar::darc::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The sum over all processes.
fn sum(world: &LamellarWorld, counts: &AtomicArray<usize>, own: usize) -> usize {
    counts.store(world.my_pe(), own).block();
    world.barrier();
    let all: Vec<usize> = (0..world.num_pes()).collect();
    let sum = counts.batch_load(&all[..]).block().into_iter().sum();
    world.barrier();
    sum
}

/// Questions to vertices, by their places among those of the process: whether they have an edge to a lower one.
#[AmData(Debug, Clone)]
struct Ask {
    graph: LocalRwDarc<Vec<Vec<u32>>>,
    found: Darc<AtomicUsize>,
    questions: Vec<(u32, u32)>,
}

#[am]
impl LamellarAM for Ask {
    async fn exec(self) {
        let graph = self.graph.read().await;
        let has = |(middle, lowest): &&(u32, u32)| graph[*middle as usize].binary_search(lowest).is_ok();
        self.found.fetch_add(self.questions.iter().filter(has).count(), Ordering::Relaxed);
    }
}

pub fn triangles(world: &LamellarWorld, size: usize) -> f64 {
    const BATCH: usize = 2048;
    let rows = inputs::graph(own_part(world, size));
    let counts = AtomicArray::<usize>::new(world, world.num_pes(), Distribution::Block).block();
    let Ok(graph) = LocalRwDarc::new(world.team(), rows.clone()).block() else {
        panic!("no graph can be made")
    };
    let Ok(found) = Darc::new(world.team(), AtomicUsize::new(0)).block() else {
        panic!("no count can be made")
    };
    world.barrier();
    let start = Instant::now();
    let each = size.div_ceil(world.num_pes());
    let mut batches = vec![Vec::with_capacity(BATCH); world.num_pes()];
    let send = |to: usize, batch: &mut Vec<(u32, u32)>| {
        let questions = std::mem::replace(batch, Vec::with_capacity(BATCH));
        let ask = Ask { graph: graph.clone(), found: found.clone(), questions };
        let _done_by_wait_all = world.exec_am_pe(to, ask).spawn();
    };
    for row in &rows {
        for (at, middle) in row.iter().enumerate() {
            let to = *middle as usize / each;
            for lowest in &row[..at] {
                batches[to].push((middle - (to * each) as u32, *lowest));
                if batches[to].len() == BATCH {
                    send(to, &mut batches[to]);
                }
            }
        }
    }
    batches.iter_mut().enumerate().for_each(|(to, batch)| send(to, batch));
    world.wait_all();
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let all = inputs::graph(0..size);
    let mut expected = 0;
    for row in &all {
        for middle in row {
            let lower = &all[*middle as usize];
            expected += lower.iter().filter(|lowest| row.contains(lowest)).count();
        }
    }
    let found = sum(world, &counts, found.load(Ordering::Relaxed));
    assert_eq!(found, expected, "the number of triangles");
    elapsed
}

pub fn topological_sort(world: &LamellarWorld, size: usize) -> f64 {
    let all = inputs::mixed_triangular(size);
    let own = own_part(world, size);
    let matrix = all[own.clone()].to_vec();
    let counts = AtomicArray::<usize>::new(world, world.num_pes(), Distribution::Block).block();
    let (mut to_columns, mut to_rows) = (Exchange::new(world, size), Exchange::new(world, size));
    let start = Instant::now();
    let columns = transposed(&mut to_columns, own.clone(), &matrix);
    // Of each row, how many columns are left, and their sum; when each column was taken.
    let mut left: Vec<_> = matrix.iter().map(Vec::len).collect();
    let mut sums: Vec<u64> =
        matrix.iter().map(|row| row.iter().map(|column| u64::from(*column)).sum()).collect();
    let mut taken = vec![0; own.len()];
    let mut front: Vec<_> = (0..own.len()).filter(|row| left[*row] == 1).collect();
    for round in 1.. {
        if sum(world, &counts, front.len()) == 0 {
            break;
        }
        for row in front.drain(..) {
            to_columns.push(sums[row] as u32, (own.start + row) as u32);
        }
        for (column, _) in to_columns.finish() {
            taken[column as usize] = round;
            let name = (own.start + column as usize) as u32;
            columns[column as usize].iter().for_each(|row| to_rows.push(*row, name));
        }
        for (row, column) in to_rows.finish() {
            let row = row as usize;
            left[row] -= 1;
            sums[row] -= u64::from(column);
            if left[row] == 1 {
                front.push(row);
            }
        }
    }
    let elapsed = start.elapsed().as_secs_f64();
    assert!(left.into_iter().all(|left| left == 0), "all rows were taken");
    assert!(taken.into_iter().all(|taken| taken > 0), "all columns were taken");
    elapsed
}
