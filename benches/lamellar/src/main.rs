//! Some kernels of bale on lamellar, as its own examples write such programs: batched operations on its arrays, and
//! active messages. They use the same numbers as the example `bale` of Gossamer, which
//! `benches/scripts/beside_lamellar.py` runs beside them.

use lamellar::active_messaging::prelude::*;
use lamellar::array::prelude::*;
use lamellar::darc::prelude::*;
use std::process::ExitCode;
use std::time::Instant;

/// A random number below `most`, always the same for the same numbers.
fn random(stream: usize, number: usize, most: usize) -> usize {
    // SplitMix64.
    let z = (stream as u64) << 40 ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) % most as u64) as usize
}

/// Each process counts as many random elements as there are.
fn histogram(world: &LamellarWorld, size: usize) -> f64 {
    let counts = AtomicArray::<u32>::new(world, size, Distribution::Cyclic).block();
    let me = world.my_pe();
    counts.barrier();
    let start = Instant::now();
    let mut indices = (0..size).map(|number| random(me, number, size));
    counts.batch_add(&mut indices as &mut dyn Iterator<Item = usize>, 1_u32).block();
    world.wait_all();
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let sum = counts.sum().block().unwrap_or(0);
    assert_eq!(sum as usize, size * world.num_pes(), "each update was done");
    elapsed
}

/// Each process looks up as many random elements as there are.
fn gather(world: &LamellarWorld, size: usize) -> f64 {
    let table = UnsafeArray::<u64>::new(world, size, Distribution::Cyclic).block();
    let (me, processes) = (world.my_pe(), world.num_pes());
    // SAFETY: before the barrier each process writes its own elements, and nobody reads any.
    for (place, element) in unsafe { table.local_as_mut_slice() }.iter_mut().enumerate() {
        *element = 3 * (place * processes + me) as u64 + 1;
    }
    table.barrier();
    let table = table.into_read_only().block();
    table.barrier();
    let start = Instant::now();
    let mut indices = (0..size).map(|number| random(me, number, size));
    let found = table.batch_load(&mut indices as &mut dyn Iterator<Item = usize>).block();
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let mut expected = (0..size).map(|number| 3 * random(me, number, size) as u64 + 1);
    assert!(found.iter().all(|found| Some(*found) == expected.next()), "each was found where it is");
    elapsed
}

const FREE: u32 = u32::MAX;

/// Numbers are thrown at twice as many places, again and again until each has hit one that is free; then they stand closer.
fn permutation(world: &LamellarWorld, size: usize) -> f64 {
    let (me, processes) = (world.my_pe(), world.num_pes());
    let filled = |len| {
        let array = UnsafeArray::<u32>::new(world, len, Distribution::Block).block();
        // SAFETY: before the barrier each process writes its own elements, and nobody reads any.
        unsafe { array.local_as_mut_slice() }.fill(FREE);
        array.barrier();
        array.into_atomic().block()
    };
    let (places, permutation) = (filled(2 * size), filled(size));
    let counts = AtomicArray::<usize>::new(world, processes, Distribution::Block).block();
    world.barrier();
    let start = Instant::now();
    let mut left: Vec<u32> = (0..size as u32).skip(me).step_by(processes).collect();
    for round in 1.. {
        let targets: Vec<usize> =
            left.iter().map(|number| random(round, *number as usize, 2 * size)).collect();
        let hits = places.batch_compare_exchange(&targets[..], FREE, &left[..]).block();
        let mut hits = hits.into_iter();
        left.retain(|_| hits.next().is_none_or(|hit| hit.is_err()));
        if left.is_empty() {
            break;
        }
    }
    world.wait_all();
    world.barrier();
    let own: Vec<u32> =
        places.local_data().iter().map(|place| place.load()).filter(|place| *place != FREE).collect();
    counts.store(me, own.len()).block();
    world.barrier();
    let all: Vec<usize> = (0..processes).collect();
    let before: usize = counts.batch_load(&all[..]).block().into_iter().take(me).sum();
    let indices: Vec<usize> = (before..before + own.len()).collect();
    if !own.is_empty() {
        permutation.batch_store(&indices[..], &own[..]).block();
    }
    world.wait_all();
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let sum: u64 = permutation.local_data().iter().map(|number| u64::from(number.load())).sum();
    counts.store(me, sum as usize).block();
    world.barrier();
    let sum: usize = counts.batch_load(&all[..]).block().into_iter().sum();
    assert_eq!(sum, size * (size - 1) / 2, "each number is there once");
    elapsed
}

/// Elements of a matrix, by row and column, on their way to the process that has the row.
#[AmData(Debug, Clone)]
struct Push {
    arrived: LocalRwDarc<Vec<(u32, u32)>>,
    elements: Vec<(u32, u32)>,
}

#[am]
impl LamellarAM for Push {
    async fn exec(self) {
        self.arrived.write().await.extend_from_slice(&self.elements);
    }
}

/// Rows with their elements: a counting sort.
fn filled_rows(count: usize, elements: &[(u32, u32)]) -> Vec<Vec<u32>> {
    // Where each row starts, and in the end where it ends.
    let mut places = vec![0; count + 1];
    elements.iter().for_each(|(row, _)| places[*row as usize + 1] += 1);
    (1..places.len()).for_each(|row| places[row] += places[row - 1]);
    let mut sorted = vec![0; elements.len()];
    for (row, column) in elements {
        let place = &mut places[*row as usize];
        sorted[*place] = *column;
        *place += 1;
    }
    let mut start = 0;
    let filled = |end: usize| {
        sorted[start..end].sort_unstable();
        let row = sorted[start..end].to_vec();
        start = end;
        row
    };
    places.into_iter().take(count).map(filled).collect()
}

/// The rows that a process has, with up to eight elements each.
fn random_rows(own: std::ops::Range<usize>, size: usize) -> Vec<Vec<u32>> {
    let row = |index| {
        let elements = 0..random(1, index, 9);
        let mut row: Vec<_> = elements.map(|edge| random(2 + edge, index, size) as u32).collect();
        row.sort_unstable();
        row.dedup();
        row
    };
    own.map(row).collect()
}

/// A sparse matrix, transposed.
fn transpose(world: &LamellarWorld, size: usize) -> f64 {
    const BATCH: usize = 2048;
    let (me, processes) = (world.my_pe(), world.num_pes());
    let each = size.div_ceil(processes);
    let own = me * each..((me + 1) * each).min(size);
    let matrix = random_rows(own.clone(), size);
    let Ok(arrived) = LocalRwDarc::new(world.team(), Vec::new()).block() else {
        panic!("the list cannot be made")
    };
    world.barrier();
    let start = Instant::now();
    let mut batches: Vec<Vec<(u32, u32)>> = vec![Vec::with_capacity(BATCH); processes];
    let send = |to: usize, batch: &mut Vec<(u32, u32)>| {
        let elements = std::mem::replace(batch, Vec::with_capacity(BATCH));
        let _done_by_wait_all = world.exec_am_pe(to, Push { arrived: arrived.clone(), elements }).spawn();
    };
    for (index, row) in own.clone().zip(&matrix) {
        for column in row {
            let to = *column as usize / each;
            batches[to].push((*column - (to * each) as u32, index as u32));
            if batches[to].len() == BATCH {
                send(to, &mut batches[to]);
            }
        }
    }
    batches.iter_mut().enumerate().for_each(|(to, batch)| send(to, batch));
    world.wait_all();
    world.barrier();
    let rows = filled_rows(own.len(), &arrived.read().block());
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let mut expected = vec![Vec::new(); own.len()];
    for (index, row) in (0..).zip(random_rows(0..size, size)) {
        let here = row.into_iter().map(|column| column as usize).filter(|column| own.contains(column));
        here.for_each(|column| expected[column - own.start].push(index));
    }
    assert!(rows == expected, "each element is where it belongs");
    elapsed
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let size = arguments.next().and_then(|size| size.parse().ok()).unwrap_or(10_000);
    let kernel = match name.as_str() {
        "histogram" => histogram,
        "gather" => gather,
        "permutation" => permutation,
        "transpose" => transpose,
        _ => {
            eprintln!("usage: lamellar-kernels histogram|gather|permutation|transpose [SIZE]");
            return ExitCode::from(2);
        }
    };
    let world = LamellarWorldBuilder::new().build();
    let elapsed = kernel(&world, size);
    if world.my_pe() == 0 {
        println!("{name}: in {elapsed:.6} s");
    }
    ExitCode::SUCCESS
}
