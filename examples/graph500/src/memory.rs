//! Whether there is memory for a graph: found out before it is made, since later it ends the program, if not others too.

use gossamer::{NoRef, rack};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::read_to_string;

/// What a graph takes at least while its rows are made: for each edge its place in the list, and both its ends.
const OF_AN_EDGE: u64 = 12 + 2 * 8;
const OF_A_VERTEX: u64 = 16;

/// A graph that is too large for a machine.
#[derive(Debug)]
pub struct Shortage {
    vertices: usize,
    edges: u64,
    needed: u64,
    available: u64,
    /// A node of the machine.
    node: usize,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { vertices, edges, needed, available, node } = self;
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        write!(
            f,
            "{vertices} vertices and {edges} edges take at least {:.1} GB on the machine of node {node}, which has {:.1} GB left: take more machines, or a smaller graph (the greatest number of a vertex counts)",
            gigabytes(*needed),
            gigabytes(*available)
        )
    }
}

/// What a node knows of its machine.
#[derive(NoRef)]
struct NodeMemory {
    /// The same on all nodes of one machine.
    machine: String,
    available: u64,
    workers: usize,
}

/// # Errors
/// If a machine has not enough memory for its nodes' share of the graph.
pub fn check(vertices: usize, edges: u64) -> Result<(), Shortage> {
    let nodes = rack::on_each_node(const { |()| NodeMemory::here() }, ());
    let workers: usize = nodes.iter().map(|node| node.workers).sum();
    let mut machines = BTreeMap::<&str, (usize, usize, u64)>::new();
    for (number, NodeMemory { machine, available, workers }) in nodes.iter().enumerate() {
        let (_, sum, least) = machines.entry(machine).or_insert((number, 0, *available));
        (*sum, *least) = (*sum + workers, (*least).min(*available));
    }
    let whole = u128::from(OF_AN_EDGE) * u128::from(edges) + u128::from(OF_A_VERTEX) * vertices as u128;
    for (node, its_workers, available) in machines.into_values() {
        let needed = (whole * its_workers as u128 / workers as u128) as u64;
        if needed > available {
            return Err(Shortage { vertices, edges, needed, available, node });
        }
    }
    Ok(())
}

impl NodeMemory {
    fn here() -> Self {
        let machine = read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let available = of_machine().into_iter().chain(of_group()).min().unwrap_or(u64::MAX);
        Self { machine, available, workers: rack::this_node().workers().len() }
    }
}

/// What the kernel can give without moving anything to disk.
fn of_machine() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What the limit of a container leaves, if there is one (cgroups, version 2).
fn of_group() -> Option<u64> {
    let groups = read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let number = |name| {
        let text = read_to_string(format!("/sys/fs/cgroup{path}/{name}")).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(number("memory.max")?.saturating_sub(number("memory.current")?))
}
