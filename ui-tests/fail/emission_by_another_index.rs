//! The elements of a vector are found by `usize`.

use gossamer::collections::{DistVec, par_emit};

#[gossamer::delegate]
fn count(ends: &DistVec<u64>, by: u64) {
    par_emit(0..100, |number, out| out.push(number as u32 % 10, by)).apply_to(ends, |count, more| *count += more);
}

fn main() {
    gossamer::run(gossamer::Config::default(), || count(&DistVec::filled(10, 0), 1));
}
