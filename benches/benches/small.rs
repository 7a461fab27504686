//! What single calls cost: `cargo bench -p benches`. For a quick look while you change something; the command `table`
//! compares.
//!
//! All of it runs as the first fiber of a runtime with two pinned workers.

use divan::{Bencher, black_box};
use gossamer::{Config, Trust, Trustee, entrust, spawn_on};

fn main() {
    gossamer::run(Config::default().threads(2), divan::main);
}

fn add(value: &mut u64, amount: u64) -> u64 {
    *value += amount;
    *value
}

/// A property of the other worker, if there is another.
fn elsewhere() -> Trust<u64> {
    let here = Trustee::here();
    let other = Trustee::all().into_iter().find(|&trustee| trustee != here).unwrap_or(here);
    other.entrust(0)
}

#[divan::bench]
fn apply_here(bencher: Bencher) {
    let trust = entrust(0);
    bencher.bench_local(|| black_box(&trust).apply_with(add, black_box(1)));
}

#[divan::bench]
fn apply_elsewhere(bencher: Bencher) {
    let trust = elsewhere();
    bencher.bench_local(|| black_box(&trust).apply_with(add, black_box(1)));
}

#[divan::bench]
fn apply_then_elsewhere(bencher: Bencher) {
    let trust = elsewhere();
    bencher.bench_local(|| black_box(&trust).apply_with_then(add, black_box(1), |_| ()));
}

#[divan::bench]
fn apply_async_and_wait_elsewhere(bencher: Bencher) {
    let trust = elsewhere();
    bencher.bench_local(|| black_box(&trust).apply_with_async(add, black_box(1)).wait());
}

#[divan::bench]
fn clone_and_drop(bencher: Bencher) {
    let trust = elsewhere();
    bencher.bench_local(|| drop(black_box(&trust).clone()));
}

#[divan::bench]
fn entrust_and_drop(bencher: Bencher) {
    bencher.bench_local(|| drop(entrust(0_u64)));
}

#[divan::bench]
fn spawn_and_join_here(bencher: Bencher) {
    let here = Trustee::here();
    bencher.bench_local(|| spawn_on(here, || black_box(1)).join());
}

#[divan::bench]
fn yield_now(bencher: Bencher) {
    bencher.bench_local(gossamer::yield_now);
}
