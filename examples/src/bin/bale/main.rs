//! The kernels of bale, a collection of small programs with irregular communication, on vectors that are spread over
//! all workers. Each prints a checked result, and how long it took.
//!
//! `cargo run --release -p examples --bin bale -- transpose 100000`; on two nodes `gossamer run --local 2 -- target/release/bale`.

mod graphs;
mod matrices;
mod vectors;

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Prints what a kernel has done, and how long that took, without making the input and without checking the result.
type Kernel = fn(usize) -> (String, Duration);

const KERNELS: [(&str, Kernel); 7] = [
    ("histogram", vectors::histogram),
    ("gather", vectors::gather),
    ("permutation", vectors::permutation),
    ("permute-matrix", matrices::permute),
    ("transpose", matrices::transpose),
    ("triangles", graphs::triangles),
    ("toposort", graphs::topological_sort),
];

#[gossamer::main]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let size = arguments.next().map_or(Ok(10_000), |size| size.parse());
    let times = arguments.next().map_or(Ok(1), |times| times.parse());
    let chosen =
        |kernel: &&(&str, Kernel)| name.as_ref().is_none_or(|name| name == "all" || name == kernel.0);
    let kernels: Vec<_> = KERNELS.iter().filter(chosen).collect();
    match (size, times) {
        (Ok(size @ 1..=0x7fff_ffff), Ok(times @ 1_u32..)) if !kernels.is_empty() => {
            for (name, kernel) in kernels {
                for _ in 0..times {
                    let (done, elapsed) = kernel(size);
                    println!("{name}: {done}, in {:.6} s", elapsed.as_secs_f64());
                }
            }
            ExitCode::SUCCESS
        }
        _ => {
            let names = KERNELS.map(|(name, _)| name).join("|");
            eprintln!(
                "usage: bale [all|{names}] [SIZE [TIMES]]\n\nOf SIZE elements, rows or vertices (default 10000), so many TIMES (default 1)."
            );
            ExitCode::from(2)
        }
    }
}

/// What a kernel returns, and how long it takes.
fn timed<R>(kernel: impl FnOnce() -> R) -> (R, Duration) {
    let start = Instant::now();
    (kernel(), start.elapsed())
}

/// A random number below `most`, always the same for the same numbers.
fn random(stream: usize, number: usize, most: usize) -> usize {
    // SplitMix64.
    let z = (stream as u64) << 40 ^ (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    // Its upper bits choose: a remainder would cost more than what is done with it.
    ((u128::from(z ^ (z >> 31)) * most as u128) >> 64) as usize
}
