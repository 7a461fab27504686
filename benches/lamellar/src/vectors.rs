//! Histogram, index gather, and a random permutation.

use crate::inputs::random;
use lamellar::array::prelude::*;
use std::time::Instant;

/// Each process counts so many random elements.
pub fn histogram(world: &LamellarWorld, updates: usize, len: usize) -> f64 {
    let counts = AtomicArray::<u32>::new(world, len, Distribution::Cyclic).block();
    let me = world.my_pe();
    counts.barrier();
    let start = Instant::now();
    let mut indices = (0..updates).map(|number| random(me, number, len));
    counts.batch_add(&mut indices as &mut dyn Iterator<Item = usize>, 1_u32).block();
    world.wait_all();
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let sum = counts.sum().block().unwrap_or(0);
    assert_eq!(sum as usize, updates * world.num_pes(), "each update was done");
    elapsed
}

/// Each process looks up so many random elements.
pub fn gather(world: &LamellarWorld, look_ups: usize, len: usize) -> f64 {
    let table = UnsafeArray::<u64>::new(world, len, Distribution::Cyclic).block();
    let (me, processes) = (world.my_pe(), world.num_pes());
    // SAFETY: before the barrier each process writes its own elements, and nobody reads any.
    for (place, element) in unsafe { table.local_as_mut_slice() }.iter_mut().enumerate() {
        *element = 3 * (place * processes + me) as u64 + 1;
    }
    table.barrier();
    let table = table.into_read_only().block();
    table.barrier();
    let start = Instant::now();
    let mut indices = (0..look_ups).map(|number| random(me, number, len));
    let found = table.batch_load(&mut indices as &mut dyn Iterator<Item = usize>).block();
    world.barrier();
    let elapsed = start.elapsed().as_secs_f64();
    let mut expected = (0..look_ups).map(|number| 3 * random(me, number, len) as u64 + 1);
    assert!(found.iter().all(|found| Some(*found) == expected.next()), "each was found where it is");
    elapsed
}

const FREE: u32 = u32::MAX;

/// Numbers are thrown at twice as many places, again and again until each has hit one that is free; then they stand closer.
pub fn permutation(world: &LamellarWorld, size: usize) -> f64 {
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
