//! Random programs on a `DistVec` and on a `Vec`: both end up equal, and give equal results on the way.

#[path = "../../../gossamer/src/collections/random_programs/on_vectors.rs"]
mod on_vectors;

use gossamer::spawn_local;
use integration_tests::{in_runtime, on_nodes};
pub(crate) use on_vectors::layouts;
use on_vectors::program;

/// For 15 programs of each number of workers, and of each fabric: 10^5 steps in all, and fewer where each is slow.
const STEPS: [usize; 2] = if cfg!(feature = "sanitizer") { [700, 120] } else { [7000, 2300] };

/// All at once, since on a busy machine each waits most of its time for other threads to have a turn.
fn programs(steps: usize) {
    let programs = [(1, 1), (2, 13), (3, 1000)].into_iter().flat_map(|(seed, len)| {
        layouts(len).into_iter().map(move |layout| spawn_local(move || program(seed, layout, len, steps)))
    });
    programs.collect::<Vec<_>>().into_iter().for_each(|program| program.join());
}

#[test]
fn a_random_program_on_one_worker_does_what_it_does_to_a_vec() {
    in_runtime(1, || programs(STEPS[0]));
}

#[test]
fn a_random_program_on_two_workers_does_what_it_does_to_a_vec() {
    in_runtime(2, || programs(STEPS[0]));
}

#[test]
fn a_random_program_on_four_workers_does_what_it_does_to_a_vec() {
    in_runtime(4, || programs(STEPS[0]));
}

#[test]
fn a_random_program_on_two_nodes_does_what_it_does_to_a_vec() {
    on_nodes(2, 2, || programs(STEPS[1]));
}
