//! The tables: measured racks beside the formula, and the formula for racks that we do not have.

use super::{Figures, Over, Shape, measure};
use crate::machine;
use std::fmt::Write as _;

/// Racks that are measured, as nodes and workers.
const SMALL: [(u64, u64); 7] = [(2, 1), (2, 2), (4, 1), (4, 2), (2, 4), (2, 8), (2, 16)];
/// Racks that are computed.
const LARGE: [(u64, u64); 8] = [(2, 1), (2, 8), (4, 8), (4, 16), (8, 16), (8, 32), (16, 32), (16, 64)];

/// Measures and computes. `arguments` make this program a node.
///
/// # Errors
/// If a rack cannot be measured.
pub fn text(arguments: &[&str]) -> Result<String, String> {
    let mut text = format!("Machine: {}.\n", machine::description());
    text += "\n## Measured\n\nMemory that lanes have added to a node (the mean of all nodes), and the connections and descriptors of \
             node 0, each with what the formula says. What is used for the first time with the lanes is in the measured figure, too: some \
             0.3 MiB of a process. `at the start` is a node's memory before there are lanes. Memory that processes share is \
             divided among them.\n\n";
    text += "| nodes x workers | over | memory of lanes | formula | connections | formula | descriptors | formula | at the start |\n\
             |---|---|---|---|---|---|---|---|---|\n";
    for over in [Over::Memory, Over::Tcp] {
        for (nodes, workers) in SMALL {
            let shape = Shape { nodes, workers, over };
            let found = measure(shape, arguments)?;
            let mean = |of: fn(&(Figures, u64)) -> u64| found.iter().map(of).sum::<u64>() / nodes;
            let (own, formula) = (found[0].0, shape.predicted(0));
            let _ = writeln!(
                text,
                "| {nodes} x {workers} | {} | {} | {} | {} | {} | {} | {} | {} |",
                name(over),
                bytes(mean(|(figures, _)| figures.lanes)),
                bytes(formula.lanes),
                own.connections,
                formula.connections,
                own.descriptors,
                formula.descriptors,
                bytes(mean(|(_, before)| *before))
            );
        }
    }
    text += "\n## Computed\n\nThe formula, for a node of a rack whose workers have all asked each other. Over shared memory all nodes are \
             on one machine, which has as many times as much.\n\n";
    text += "| nodes x workers | shm: memory | connections | descriptors | tcp: memory | connections | descriptors \
             | verbs: memory | of it pinned | connections | descriptors |\n\
             |---|---|---|---|---|---|---|---|---|---|---|\n";
    for (nodes, workers) in LARGE {
        let of = |over| Shape { nodes, workers, over }.predicted(0);
        let (memory, tcp, verbs) = (of(Over::Memory), of(Over::Tcp), of(Over::Verbs));
        let pinned = bytes(Shape { nodes, workers, over: Over::Verbs }.pinned());
        let three =
            |one: Figures| format!("{} | {} | {}", bytes(one.lanes), one.connections, one.descriptors);
        let (memory, tcp) = (three(memory), three(tcp));
        let Figures { lanes, connections, descriptors } = verbs;
        let _ = writeln!(
            text,
            "| {nodes} x {workers} | {memory} | {tcp} | {} | {pinned} | {connections} | {descriptors} |",
            bytes(lanes)
        );
    }
    Ok(text)
}

pub(super) fn name(over: Over) -> &'static str {
    match over {
        Over::Memory => "shm",
        Over::Tcp => "tcp",
        Over::Verbs => "verbs",
    }
}

/// In the unit that fits.
fn bytes(bytes: u64) -> String {
    match bytes {
        0..0x10_0000 => format!("{} KiB", bytes >> 10),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
        _ => format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30)),
    }
}
