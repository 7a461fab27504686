//! The kernels on a `DistVec`, from a fiber on each worker.

use crate::{EACH, indices};
use gossamer::collections::{self, DistVec, Layout};
use gossamer::{Trustee, spawn_on};
use std::time::Instant;

/// Seconds that the slowest worker takes for a histogram and for a gather. The result is checked.
#[gossamer::delegate]
pub fn run(len: usize) -> (f64, f64) {
    let table = DistVec::filled(Layout::cyclic(len), 0_u64);
    let workers = Trustee::all().len();
    // How many fibers have reached each point: there is no barrier of workers.
    let come = gossamer::entrust([0_usize; 3]);
    let mut fibers = Vec::new();
    for (number, trustee) in Trustee::all().into_iter().enumerate() {
        let (table, come) = (table.clone(), come.clone());
        fibers.push(spawn_on(trustee, move || {
            let indices = indices(number, len);
            // Memory whose pages are present, like that of the plain threads.
            let mut found = vec![1; EACH];
            found.clear();
            let meet = |point: usize| {
                come.apply_with(|come, point| come[point] += 1, point);
                while come.apply_with(|come, point| come[point], point) < workers {
                    gossamer::yield_now();
                }
            };
            meet(0);
            let start = Instant::now();
            let mut updates = table.updates(|count, ()| *count += 1);
            indices.iter().for_each(|index| updates.push(*index, ()));
            updates.finish();
            meet(1);
            let histogram = start.elapsed().as_secs_f64();
            let start = Instant::now();
            table.gather_into(indices.iter().copied(), &mut found);
            meet(2);
            let gather = start.elapsed().as_secs_f64();
            assert!(found.len() == EACH && found.iter().all(|count| *count > 0));
            (histogram, gather)
        }));
    }
    let mut slowest = (0.0_f64, 0.0_f64);
    for fiber in fibers {
        let (histogram, gather) = fiber.join();
        slowest = (slowest.0.max(histogram), slowest.1.max(gather));
    }
    let sums = table.map_all(|elements| elements.iter().sum::<u64>());
    assert_eq!(sums.into_iter().sum::<u64>(), (workers * EACH) as u64);
    slowest
}

/// Nanoseconds that one worker takes for each number of a loop that does nothing.
#[gossamer::delegate]
pub fn empty_loop(len: usize) -> f64 {
    let start = Instant::now();
    collections::par_for_each(0..len, |number| {
        std::hint::black_box(number);
    });
    start.elapsed().as_secs_f64() * 1e9 * Trustee::all().len() as f64 / len as f64
}
