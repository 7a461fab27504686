//! The kernels of bale on lamellar, as its own examples write such programs: batched operations on its arrays, and
//! active messages. They use the same numbers as the example `bale` of Gossamer, which `benches/scripts/kernels.py` runs
//! beside them.

mod exchange;
mod graphs;
#[path = "../../src/bin/kernels/inputs.rs"]
mod inputs;
mod matrices;
mod vectors;

use lamellar::active_messaging::prelude::*;
use std::process::ExitCode;

/// The seconds that a kernel takes of so many elements, rows or vertices, and of so many elements that are used at random,
/// where that is not the same.
type Kernel = fn(&LamellarWorld, usize, usize) -> f64;

const KERNELS: [(&str, Kernel); 7] = [
    ("histogram", vectors::histogram),
    ("gather", vectors::gather),
    ("permutation", |world, size, _| vectors::permutation(world, size)),
    ("permute-matrix", |world, size, _| matrices::permute(world, size)),
    ("transpose", |world, size, _| matrices::transpose(world, size)),
    ("triangles", |world, size, _| graphs::triangles(world, size)),
    ("toposort", |world, size, _| graphs::topological_sort(world, size)),
];

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let mut number = |default| arguments.next().and_then(|number| number.parse().ok()).unwrap_or(default);
    let (size, times) = (number(10_000), number(1));
    let elements = number(size);
    let Some((_, kernel)) = KERNELS.iter().find(|(kernel, _)| *kernel == name) else {
        eprintln!(
            "usage: lamellar-kernels {} [SIZE [TIMES [ELEMENTS]]]",
            KERNELS.map(|(name, _)| name).join("|")
        );
        return ExitCode::from(2);
    };
    let world = LamellarWorldBuilder::new().build();
    for _ in 0..times {
        let elapsed = kernel(&world, size, elements);
        if world.my_pe() == 0 {
            println!("{name}: in {elapsed:.6} s");
        }
    }
    ExitCode::SUCCESS
}
