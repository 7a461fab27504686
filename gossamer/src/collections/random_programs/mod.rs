//! Random programs on collections of nodes that are joined by the simulated network: writes between them come late, in
//! pieces and out of order, and there is seldom room for a large value. A failure names its seed.

mod on_maps;
mod on_vectors;

use crate::collections::{DistMap, DistVec};
use crate::fabric::watchdog;
use crate::{Config, FabricChoice, Trustee, rack, spawn_local};

/// Runs a closure on two nodes of two workers each, joined by the network of this seed.
fn over_a_bad_network(seed: u64, body: impl FnOnce() + Send + 'static) {
    let _watched = watchdog::watch();
    println!("network: seed {seed}");
    let config = Config::default().threads(2).pin(false).fabric(FabricChoice::Simulated(seed));
    rack::run_in_process(2, config, body);
}

#[test]
fn random_programs_on_vectors_do_what_they_do_to_a_vec_over_a_bad_network() {
    for seed in 0..4 {
        over_a_bad_network(seed, move || {
            let mut fibers = Vec::new();
            for (program, len) in [1, 13, 200, 1000].into_iter().enumerate() {
                for (layout, part) in on_vectors::layouts(len).into_iter().zip(0..) {
                    let seed = seed * 100 + program as u64 * 10 + part;
                    fibers.push(spawn_local(move || on_vectors::program(seed, layout, len, 1300)));
                }
            }
            fibers.into_iter().for_each(|fiber| fiber.join());
        });
    }
}

#[test]
fn random_programs_on_maps_do_what_they_do_to_a_map_over_a_bad_network() {
    for seed in 4..8 {
        over_a_bad_network(seed, move || {
            let all = Trustee::all();
            let mut fibers = Vec::new();
            for (program, keys) in (0..).zip([1, 13, 100]) {
                for (map, part) in [DistMap::new(), DistMap::on(&all[2..])].into_iter().zip(0..) {
                    let seed = seed * 100 + program * 10 + part;
                    fibers.push(spawn_local(move || on_maps::program(seed, map, keys, 4200)));
                }
            }
            fibers.into_iter().for_each(|fiber| fiber.join());
        });
    }
}

#[test]
fn large_elements_come_whole_over_a_bad_network() {
    over_a_bad_network(8, || {
        let texts = DistVec::from_fn(12, const { |index: usize| index.to_string().repeat(100_000) });
        let all: Vec<_> = (0..12).map(|index| index.to_string().repeat(100_000)).collect();
        assert!(texts.gather(0..12) == all && texts.to_vec() == all);
        texts.scatter((0..12).map(|index| (11 - index, all[index].clone())));
        assert!(texts.to_vec().into_iter().rev().eq(all));
    });
}
