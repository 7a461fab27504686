//! Plain pinned threads that share a vector of atomics; a single thread has a plain vector, without atomics.

use crate::indices;
use benches::machine::pinned;
use benches::team::work;
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The vector, with all of its pages present.
pub fn table(len: usize) -> Arc<Vec<AtomicU64>> {
    Arc::new((0..len).map(|_| AtomicU64::new(black_box(0))).collect())
}

/// Seconds that the slowest thread takes for a histogram and for a gather.
pub fn run(table: &Arc<Vec<AtomicU64>>, threads: usize) -> (f64, f64) {
    // A fiber of the runtime calls this: its workers are idle meanwhile, and asleep.
    let table = Arc::clone(table);
    gossamer::unblock(move || {
        if threads == 1 { pinned(0, move || alone(&table)).join() } else { Ok(together(&table, threads)) }
    })
    .unwrap_or_else(|payload| std::panic::resume_unwind(payload))
}

fn together(table: &[AtomicU64], threads: usize) -> (f64, f64) {
    let (seconds, _) = work(threads, |member| {
        let indices = indices(member.index, table.len());
        let mut found = vec![1; indices.len()];
        member.barrier();
        let start = Instant::now();
        for index in &indices {
            table[*index].fetch_add(1, Ordering::Relaxed);
        }
        member.barrier();
        let histogram = start.elapsed().as_secs_f64();
        let start = Instant::now();
        for (found, index) in found.iter_mut().zip(&indices) {
            *found = table[*index].load(Ordering::Relaxed);
        }
        member.barrier();
        black_box(found);
        (histogram, start.elapsed().as_secs_f64())
    });
    let slowest = |slowest: (f64, f64), one: (f64, f64)| (slowest.0.max(one.0), slowest.1.max(one.1));
    seconds.into_iter().fold((0.0, 0.0), slowest)
}

fn alone(table: &[AtomicU64]) -> (f64, f64) {
    let indices = indices(0, table.len());
    let mut plain: Vec<u64> = table.iter().map(|element| element.load(Ordering::Relaxed)).collect();
    let mut found = vec![1; indices.len()];
    let start = Instant::now();
    for index in &indices {
        plain[*index] += 1;
    }
    let histogram = start.elapsed().as_secs_f64();
    black_box(&mut plain);
    let start = Instant::now();
    for (found, index) in found.iter_mut().zip(&indices) {
        *found = plain[*index];
    }
    black_box(found);
    (histogram, start.elapsed().as_secs_f64())
}
