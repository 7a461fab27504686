//! Random programs on a `DistMap` and on a `BTreeMap`: both end up equal, and give equal results on the way.

#[path = "../../../gossamer/src/collections/random_programs/on_maps.rs"]
mod on_maps;

use gossamer::collections::DistMap;
use gossamer::{Trustee, spawn_local, yield_now};
use integration_tests::{in_runtime, on_nodes};
use on_maps::program;

/// For nine programs of each number of workers, and of each fabric: 10^5 steps in all, and fewer where each is slow.
const STEPS: [usize; 2] = if cfg!(feature = "sanitizer") { [600, 100] } else { [4000, 2000] };

/// All at once, since on a busy machine each waits most of its time for other threads to have a turn.
fn programs(steps: usize) {
    let all = Trustee::all();
    let twice: Vec<_> = all.iter().rev().chain(&all[..1]).copied().collect();
    let programs = [(1, 1), (2, 13), (3, 300)].into_iter().flat_map(|(seed, keys)| {
        let maps = [DistMap::new(), DistMap::on(&twice), DistMap::on(&all[all.len() - 1..])];
        maps.map(|map| spawn_local(move || program(seed, map, keys, steps)))
    });
    programs.collect::<Vec<_>>().into_iter().for_each(|program| program.join());
}

#[test]
fn a_random_program_on_one_worker_does_what_it_does_to_a_map() {
    in_runtime(1, || programs(STEPS[0]));
}

#[test]
fn a_random_program_on_two_workers_does_what_it_does_to_a_map() {
    in_runtime(2, || programs(STEPS[0]));
}

#[test]
fn a_random_program_on_four_workers_does_what_it_does_to_a_map() {
    in_runtime(4, || programs(STEPS[0]));
}

#[test]
fn a_random_program_on_two_nodes_does_what_it_does_to_a_map() {
    on_nodes(2, 2, || programs(STEPS[1]));
}

#[test]
fn a_large_map_is_filled_counted_and_emptied_while_others_use_it() {
    const KEYS: u64 = 30_000;
    in_runtime(2, || {
        let map = DistMap::new();
        let mut merges = map.merges(|value: &mut u64, more| *value += more);
        merges.extend((0..3 * KEYS).map(|number| (number % KEYS, 1)));
        merges.finish();
        assert_eq!(map.len(), KEYS as usize);
        let there = map.clone();
        let other = spawn_local(move || {
            let mut updates = there.updates(0, |value: &mut u64, by: u64| *value += by);
            for key in KEYS..2 * KEYS {
                updates.push(key, 1);
                if key.is_multiple_of(100) {
                    yield_now();
                }
            }
            updates.finish();
        });
        let mut met = vec![0; KEYS as usize];
        for (key, value) in map.chunks().flatten().filter(|(key, _)| *key < KEYS) {
            met[key as usize] += 1;
            assert_eq!(value, 3);
        }
        assert_eq!(met, vec![1; KEYS as usize], "each that was there all the time comes once");
        other.join();
        map.retain(|key, _| *key % 2 == 0);
        assert_eq!(map.len(), KEYS as usize);
        let drained: u64 = map.drain().flatten().map(|(_, value)| value).sum();
        assert_eq!((drained, map.len()), (3 * KEYS / 2 + KEYS / 2, 0));
    });
}
