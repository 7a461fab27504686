//! Sorts random numbers: in a `DistVec`, and in a `Vec` by rayon.

use crate::mix;
use benches::machine::pin;
use gossamer::collections::DistVec;
use rayon::slice::ParallelSliceMut;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;
use std::time::Instant;

/// As many pinned threads as there are workers.
pub fn pool(threads: usize) -> Arc<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).start_handler(pin).build();
    Arc::new(pool.unwrap_or_else(|error| panic!("rayon's threads: {error}")))
}

/// Seconds that a `DistVec` takes. The result is checked.
#[gossamer::delegate]
pub fn ours(len: usize) -> f64 {
    let numbers = DistVec::from_fn(len, |index| mix(index as u64));
    let start = Instant::now();
    numbers.par_sort_unstable();
    let seconds = start.elapsed().as_secs_f64();
    let ends = numbers.map_all(|numbers| {
        assert!(numbers.is_sorted());
        numbers.first().copied().zip(numbers.last().copied())
    });
    assert!(ends.into_iter().flatten().flat_map(|(first, last)| [first, last]).is_sorted());
    seconds
}

/// Seconds that rayon takes, while the workers are asleep.
pub fn rayons(pool: &Arc<ThreadPool>, len: usize) -> f64 {
    let pool = Arc::clone(pool);
    gossamer::unblock(move || {
        let mut numbers: Vec<_> = (0..len as u64).map(mix).collect();
        let start = Instant::now();
        pool.install(|| numbers.par_sort_unstable());
        let seconds = start.elapsed().as_secs_f64();
        assert!(numbers.is_sorted());
        seconds
    })
}
