//! The kernels of bale, a collection of small programs with irregular communication, on vectors that are spread over
//! all workers. Each prints a checked result, and how long it took.
//!
//! `cargo run --release -p examples --bin bale -- transpose 100000`; on two nodes `gossamer run --local 2 -- target/release/bale`.

mod graphs;
mod matrices;
mod vectors;

use std::process::ExitCode;
use std::time::{Duration, Instant};

/// How large a kernel's input is.
struct Input {
    /// Elements, rows or vertices; what each worker does, where that is not one for each of them.
    size: usize,
    /// Those of the vector that is updated or looked up at random.
    elements: usize,
}

/// What a kernel has done, and how long that took, without making the input and without checking the result.
type Kernel = fn(&Input) -> (String, Duration);

const KERNELS: [(&str, Kernel); 7] = [
    ("histogram", |input| vectors::histogram(input.size, input.elements)),
    ("gather", |input| vectors::gather(input.size, input.elements)),
    ("permutation", |input| vectors::permutation(input.size)),
    ("permute-matrix", |input| matrices::permute(input.size)),
    ("transpose", |input| matrices::transpose(input.size)),
    ("triangles", |input| graphs::triangles(input.size)),
    ("toposort", |input| graphs::topological_sort(input.size)),
];

#[gossamer::main]
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next();
    let mut number = |default| arguments.next().map_or(Ok(default), |number| number.parse::<usize>());
    let size = number(10_000);
    let times = number(1);
    let elements = number(*size.as_ref().unwrap_or(&0));
    let chosen =
        |kernel: &&(&str, Kernel)| name.as_ref().is_none_or(|name| name == "all" || name == kernel.0);
    let kernels: Vec<_> = KERNELS.iter().filter(chosen).collect();
    match (size, times, elements) {
        (Ok(size @ 1..=0x7fff_ffff), Ok(times @ 1..), Ok(elements @ 1..=0x7fff_ffff))
            if !kernels.is_empty() =>
        {
            for (name, kernel) in kernels {
                for _ in 0..times {
                    let (done, elapsed) = kernel(&Input { size, elements });
                    println!("{name}: {done}, in {:.6} s", elapsed.as_secs_f64());
                }
            }
            ExitCode::SUCCESS
        }
        _ => {
            let names = KERNELS.map(|(name, _)| name).join("|");
            eprintln!(
                "usage: bale [all|{names}] [SIZE [TIMES [ELEMENTS]]]\n\n\
                 Of SIZE elements, rows or vertices (default 10000), so many TIMES (default 1). Each worker does SIZE\n\
                 updates (histogram) or look-ups (gather), of ELEMENTS elements (default SIZE)."
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
