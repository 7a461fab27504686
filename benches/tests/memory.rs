//! The formula for what lanes take, against racks of processes.

use benches::memory::{Over, Shape, measure, node};
use gossamer::{Config, FabricChoice, rack};
use integration_tests::{isolated, simulate_rdma, simulated_counter, watched};

/// A node, when a test has started it as one.
#[test]
#[ignore = "it is a program that other tests start"]
fn a_node_of_a_rack() {
    node::run();
}

const NODE: [&str; 4] = ["a_node_of_a_rack", "--exact", "--ignored", "--nocapture"];

#[test]
fn connections_and_descriptors_are_as_computed_and_memory_nearly() {
    watched(|| {
        for over in [Over::Memory, Over::Tcp] {
            for (nodes, workers) in [(2, 1), (3, 2)] {
                let shape = Shape { nodes, workers, over };
                let found = measure(shape, &NODE).unwrap();
                for (node, (figures, _)) in (0..).zip(found) {
                    let formula = shape.predicted(node);
                    let what = format!("{shape:?} node {node}: {figures:?}, computed {formula:?}");
                    assert_eq!(figures.connections, formula.connections, "{what}");
                    assert_eq!(figures.descriptors, formula.descriptors, "{what}");
                    // Fibers and the heap take some more, and pages that processes share come and go, also of what is no lane.
                    let least = (formula.lanes * 3 / 4).saturating_sub(128 << 10);
                    let about = least..formula.lanes * 5 / 4 + (256 << 10);
                    assert!(about.contains(&figures.lanes), "{what}");
                }
            }
        }
    });
}

/// Bytes that are registered with the simulated device, by all nodes of this process.
fn pinned() -> u64 {
    simulated_counter(c"pinned")
}

#[test]
fn what_is_registered_for_rdma_is_exactly_as_computed() {
    watched(|| {
        isolated(|| {
            simulate_rdma();
            for (nodes, workers) in [(2, 1), (2, 3), (3, 2), (2, 5)] {
                let config = Config::default().threads(workers).pin(false).fabric(FabricChoice::Verbs);
                let found = rack::run_in_process(nodes, config, || {
                    node::use_all_lanes();
                    pinned()
                });
                let shape = Shape { nodes: nodes as u64, workers: workers as u64, over: Over::Verbs };
                assert_eq!(found, shape.nodes * shape.pinned(), "{shape:?}");
            }
            assert_eq!(pinned(), 0, "all of it is given back");
        });
    });
}

#[test]
fn rdma_takes_hardly_more_than_its_slots_and_three_mebibytes_for_each_remote_node() {
    for nodes in [2, 3, 4, 8, 16, 64] {
        for workers in [1, 2, 3, 4, 8, 16, 32, 64, 128] {
            let of = |over| Shape { nodes, workers, over }.predicted(0).lanes;
            let slots = 2 * (56 << 10) * workers * workers * (nodes - 1);
            let (verbs, most) = (of(Over::Verbs), of(Over::Tcp) + slots * 11 / 10 + (nodes - 1) * (3 << 20));
            assert!(verbs <= most, "{nodes} x {workers}: {verbs} of {most}");
        }
    }
}

#[test]
fn a_paper_rack_is_computed_as_a_reader_would() {
    // 64 workers of a node and 960 others: 61,440 pairs, with 7 KiB of slots and 6 KiB of ends; inside the node 4032 pairs with 32 KiB
    // of slots.
    let rack = Shape { nodes: 16, workers: 64, over: Over::Tcp }.predicted(0);
    assert_eq!(rack.lanes >> 10, 61_440 * (7 + 6) + 4032 * (32 + 6));
    assert!(rack.lanes < 1 << 30);
    assert_eq!(rack.connections, 15 * 65);
}
