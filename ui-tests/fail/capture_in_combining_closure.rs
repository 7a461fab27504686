//! A capture of the closure that combines the results of a loop.

use gossamer::collections::{DistVec, par_map_reduce};

#[gossamer::delegate]
fn sums(numbers: &DistVec<u64>, factor: u64) -> (Option<u64>, Option<u64>) {
    let one = par_map_reduce(0..10, |number| number as u64 * factor, |one, other| one + factor * other);
    let two = numbers.par_map_reduce(|_, number| *number, |one, other| {
        let most = one.max(other);
        most.min(factor)
    });
    (one, two)
}

fn main() {
    gossamer::run(gossamer::Config::default(), || sums(&DistVec::from_fn(10, |index| index as u64), 3));
}
