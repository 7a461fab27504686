//! Whether there is memory for a graph: found out before it is made, and while it is read, since later it ends the
//! program, if not others too.

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

/// The memory that is left on the machines, and in the control groups, of all nodes. By default nobody knows of a limit.
#[derive(Clone, Debug, Default)]
pub struct Left {
    shared: Vec<Share>,
    /// Of all nodes.
    workers: usize,
}

/// What some of the nodes have together.
#[derive(Clone, Debug)]
struct Share {
    /// The first of them.
    node: usize,
    /// Of all of them.
    workers: usize,
    available: u64,
}

/// What is about to take memory. Each stage comes with those that follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The list of edges, on all workers.
    Generation,
    /// The list of edges, on node 0.
    Reading,
    /// The rows; the list is in memory.
    Construction,
}

impl Left {
    /// Asks all nodes.
    pub fn on_all_nodes() -> Self {
        let nodes = rack::on_each_node(const { |()| NodeMemory::here() }, ());
        let mut shared = BTreeMap::<&str, Share>::new();
        for (node, NodeMemory { shared: of_node, workers }) in nodes.iter().enumerate() {
            for (name, available) in of_node {
                let share = shared.entry(name).or_insert(Share { node, workers: 0, available: *available });
                share.workers += workers;
                share.available = share.available.min(*available);
            }
        }
        let workers = nodes.iter().map(|node| node.workers).sum();
        Self { shared: shared.into_values().collect(), workers }
    }

    #[cfg(test)]
    pub fn on_one_node(available: u64) -> Self {
        Self { shared: vec![Share { node: 0, workers: 1, available }], workers: 1 }
    }

    /// Whether there is room for a graph, as `check` finds.
    pub fn room(self, stage: Stage) -> Box<dyn Fn(usize, u64) -> Result<(), String>> {
        Box::new(move |vertices, edges| {
            self.check(vertices, edges, stage).map_err(|shortage| shortage.to_string())
        })
    }

    /// Whether each machine, and each control group, has memory for its nodes' share of the graph.
    pub fn check(&self, vertices: usize, edges: u64, stage: Stage) -> Result<(), Shortage> {
        let of_an_edge = OF_ENDS + if stage == Stage::Construction { 0 } else { OF_A_LIST };
        let whole = u128::from(of_an_edge) * u128::from(edges) + u128::from(OF_A_VERTEX) * vertices as u128;
        let list = u128::from(OF_A_LIST) * u128::from(edges);
        for Share { node, workers, available } in &self.shared {
            let of_nodes = |bytes: u128| bytes * *workers as u128 / self.workers as u128;
            let mut needed = of_nodes(whole);
            if stage == Stage::Reading && *node == 0 {
                // The whole list, and then a copy of what stays here.
                needed = needed.max(list + of_nodes(list));
            }
            let needed = u64::try_from(needed).unwrap_or(u64::MAX);
            if needed > *available {
                return Err(Shortage { vertices, edges, needed, available: *available, node: *node });
            }
        }
        Ok(())
    }
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
    fn the_node_that_reads_a_file_needs_room_for_its_list_and_for_its_own_part_of_it() {
        let share = |node, available| Share { node, workers: 1, available };
        let fits = |of_node_0, of_others, stage| {
            let shared = (0..4).map(|node| share(node, if node == 0 { of_node_0 } else { of_others }));
            Left { shared: shared.collect(), workers: 4 }.check(0, 1000, stage).is_ok()
        };
        // A quarter of 12 and 16 bytes for each edge; of 16; and all 12 with a quarter of them.
        assert!(fits(7_000, 7_000, Stage::Generation) && !fits(6_999, 7_000, Stage::Generation));
        assert!(fits(4_000, 4_000, Stage::Construction) && !fits(4_000, 3_999, Stage::Construction));
        assert!(fits(15_000, 7_000, Stage::Reading) && !fits(14_999, 7_000, Stage::Reading));
    }

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
