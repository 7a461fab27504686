//! Whether there is memory for a graph: found out before it is made, since later it ends the program, if not others too.

use crate::construct::OF_A_VERTEX;
use crate::edges::Edge;
use crate::end::End;
use gossamer::{NoRef, rack};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{metadata, read_to_string};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Both ends of an edge, which are gathered before rows are made of them.
const OF_ENDS: u64 = 2 * size_of::<End>() as u64;
/// An edge in the list that is made before, or read.
const OF_A_LIST: u64 = size_of::<Edge>() as u64;

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
            "{vertices} vertices and {edges} edges take at least {:.1} GB where node {node} is, which has {:.1} GB left: take more machines, or a smaller graph (the greatest number of a vertex counts)",
            gigabytes(*needed),
            gigabytes(*available)
        )
    }
}

/// What a node knows of the memory that it shares with others: of its machine, and of its control group, if that has a
/// limit. Each has a name, which is the same for all nodes that share it, and the bytes that are left.
#[derive(NoRef)]
struct NodeMemory {
    shared: Vec<(String, u64)>,
    workers: usize,
}

/// Whether each machine, and each control group, has memory for its nodes' share of the graph. `is_listed` says that the
/// list of edges is there already.
///
/// # Errors
/// If one has not.
pub fn check(vertices: usize, edges: u64, is_listed: bool) -> Result<(), Shortage> {
    let nodes = rack::on_each_node(const { |()| NodeMemory::here() }, ());
    let workers: usize = nodes.iter().map(|node| node.workers).sum();
    let mut shared = BTreeMap::<&str, (usize, usize, u64)>::new();
    for (number, node) in nodes.iter().enumerate() {
        for (name, available) in &node.shared {
            let (_, sum, least) = shared.entry(name).or_insert((number, 0, *available));
            (*sum, *least) = (*sum + node.workers, (*least).min(*available));
        }
    }
    let of_an_edge = OF_ENDS + if is_listed { 0 } else { OF_A_LIST };
    let whole = u128::from(of_an_edge) * u128::from(edges) + u128::from(OF_A_VERTEX) * vertices as u128;
    for (node, its_workers, available) in shared.into_values() {
        let needed = (whole * its_workers as u128 / workers as u128) as u64;
        if needed > available {
            return Err(Shortage { vertices, edges, needed, available, node });
        }
    }
    Ok(())
}

impl NodeMemory {
    fn here() -> Self {
        let machine = read_to_string("/proc/sys/kernel/random/boot_id").ok();
        let machine = machine.unwrap_or_else(|| format!("node {}", rack::this_node().index()));
        let mut shared: Vec<_> =
            of_machine().map(|available| (machine.clone(), available)).into_iter().collect();
        let groups = read_to_string("/proc/self/cgroup").unwrap_or_default();
        // Of version 2, the only one whose line begins so.
        if let Some(path) = groups.lines().find_map(|line| line.strip_prefix("0::")) {
            let namespace = metadata("/proc/self/ns/cgroup").map_or(0, |found| found.ino());
            let name = |path: &Path| format!("{machine} {namespace} {}", path.display());
            let found = of_groups(Path::new("/sys/fs/cgroup"), Path::new(path));
            shared.extend(found.into_iter().map(|(path, available)| (name(&path), available)));
        }
        Self { shared, workers: rack::this_node().workers().len() }
    }
}

/// What the kernel can give without moving anything to disk.
fn of_machine() -> Option<u64> {
    let text = read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
}

/// What is left in a control group and in those around it, where there is a limit. Files that are kept in memory give way.
fn of_groups(root: &Path, path: &Path) -> Vec<(std::path::PathBuf, u64)> {
    let left = |group: &Path| {
        let directory = root.join(group.strip_prefix("/").unwrap_or(group));
        let number = |name| read_to_string(directory.join(name)).ok()?.trim().parse::<u64>().ok();
        let counts = read_to_string(directory.join("memory.stat")).ok()?;
        let reclaimable = ["inactive_file ", "active_file ", "slab_reclaimable "]
            .into_iter()
            .filter_map(|name| counts.lines().find_map(|line| line.strip_prefix(name))?.parse::<u64>().ok());
        let used = number("memory.current")?.saturating_sub(reclaimable.sum());
        Some((group.to_owned(), number("memory.max")?.saturating_sub(used)))
    };
    path.ancestors().filter_map(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn files_in_memory_do_not_count_and_groups_around_do() {
        let root = std::env::temp_dir().join(format!("graph500-groups-{}", std::process::id()));
        let write = |group: &str, name: &str, text: &str| {
            fs::create_dir_all(root.join(group)).unwrap();
            fs::write(root.join(group).join(name), text).unwrap();
        };
        for (group, most) in [("", "max\n"), ("a", "1000\n"), ("a/b", "max\n"), ("a/b/c", "500\n")] {
            write(group, "memory.max", most);
            write(group, "memory.current", "400\n");
            write(group, "memory.stat", "anon 70\ninactive_file 200\nactive_file 100\nslab_reclaimable 30\n");
        }
        fs::remove_file(root.join("a/b/c/memory.stat")).unwrap();
        let found = of_groups(&root, Path::new("/a/b/c"));
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(found, [(Path::new("/a").to_owned(), 930)], "what is not told is not taken for used");
        assert_eq!(of_groups(&root, Path::new("/")), []);
        assert!(of_machine().is_none_or(|available| available > 1 << 20));
    }
}
