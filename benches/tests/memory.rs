//! The formula for what lanes take, against racks of processes.

use benches::memory::{Over, Shape, measure, node};
use integration_tests::watched;

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

#[test]
fn a_paper_rack_is_computed_as_a_reader_would() {
    // 64 workers of a node and 960 others: 61,440 pairs, with 56 KiB for each way, and 18 KiB of ends; inside the node 4032 pairs
    // with 32 KiB.
    let rack = Shape { nodes: 16, workers: 64, over: Over::Tcp }.predicted(0);
    assert_eq!(rack.lanes >> 10, 61_440 * (112 + 18) + 4032 * (32 + 6));
    assert_eq!(rack.connections, 15 * 65);
}
