//! Names of sockets on one machine: every user can see them, and can take them when they are free.

use super::{Nodes, signal, start, wait, wait_until_up};
use gossamer::FabricChoice::{self, Shm, Tcp, Verbs};
use integration_tests::{is_tested, watched};
use std::collections::{BTreeMap, HashSet};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The names at which a process listens.
fn names(process: u32) -> HashSet<String> {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{process}/fd")) else { return HashSet::new() };
    let links = descriptors.flatten().filter_map(|descriptor| std::fs::read_link(descriptor.path()).ok());
    let own: HashSet<String> = links.map(|link| link.to_string_lossy().into_owned()).collect();
    let table = std::fs::read_to_string("/proc/net/unix").unwrap();
    let named = table.lines().filter_map(|line| {
        let columns: Vec<&str> = line.split_whitespace().collect();
        // Accepted connections have the name of their listener, too.
        let is_listening = columns[3] == "00010000";
        let name = columns.get(7)?.strip_prefix('@').filter(|_| is_listening)?;
        own.contains(&format!("socket:[{}]", columns[6])).then(|| name.to_owned())
    });
    named.collect()
}

/// Watches all names that processes have at any time, and takes each as soon as it is free, until it is dropped.
struct Squatter {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<BTreeMap<String, Option<UnixListener>>>>,
}

impl Drop for Squatter {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}

impl Squatter {
    fn watch(nodes: &Nodes) -> Self {
        let processes: Vec<u32> = nodes.0.iter().map(std::process::Child::id).collect();
        let ends = Arc::new(AtomicBool::new(false));
        let has_ended = Arc::clone(&ends);
        let thread = thread::spawn(move || {
            let mut taken = BTreeMap::new();
            while !has_ended.load(Ordering::Relaxed) {
                for name in processes.iter().flat_map(|process| names(*process)) {
                    taken.entry(name).or_insert(None);
                }
                for (name, listener) in taken.iter_mut().filter(|(_, listener)| listener.is_none()) {
                    *listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).ok();
                }
                thread::sleep(Duration::from_millis(1));
            }
            taken
        });
        Self { ends, thread: Some(thread) }
    }

    /// The names that were seen, and the sockets that have taken them since.
    fn end(mut self) -> BTreeMap<String, Option<UnixListener>> {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

fn started(nodes: usize, fabric: FabricChoice) -> (Nodes, Squatter) {
    let mut all = start("sleep", nodes, fabric);
    let squatter = Squatter::watch(&all);
    wait_until_up(&mut all);
    (all, squatter)
}

#[test]
fn nodes_that_share_no_memory_have_no_socket_with_a_name() {
    watched(|| {
        for fabric in [Tcp, Verbs].into_iter().filter(|fabric| is_tested(*fabric)) {
            let (nodes, squatter) = started(3, fabric);
            let seen = squatter.end();
            // The simulated device has sockets, too.
            let nodes_own = seen.keys().filter(|name| !name.starts_with("verbs-sim")).collect::<Vec<_>>();
            assert!(nodes_own.is_empty(), "{fabric}: {nodes_own:?}");
            drop(nodes);
        }
    });
}

#[test]
fn a_node_that_runs_waits_at_no_name_for_others() {
    watched(|| {
        let (nodes, squatter) = started(3, Shm);
        squatter.end();
        let left: Vec<_> = nodes.0.iter().flat_map(|node| names(node.id())).collect();
        assert!(left.is_empty(), "{left:?}");
    });
}

/// How many nodes report the end of the others, if somebody has taken names of theirs.
fn reports_beside_a_squatter() -> Option<usize> {
    let (mut nodes, squatter) = started(4, Shm);
    // So that node 0 cannot report the end of node 1.
    signal(&nodes.0[0], libc::SIGSTOP);
    nodes.0[1].kill().unwrap();
    thread::sleep(Duration::from_millis(200));
    nodes.0[0].kill().unwrap();
    let ended = wait(&mut nodes);
    assert!(ended[2].errors.contains("node 0 (process "), "{}", ended[2].errors);
    let has_taken = squatter.end().values().any(Option::is_some);
    has_taken.then(|| ended.iter().filter(|node| !node.errors.is_empty()).count())
}

#[test]
fn who_takes_the_names_of_nodes_that_have_ended_does_not_keep_the_report_back() {
    // The names are there for some milliseconds, and a node that a busy machine keeps from hearing of a report reports as
    // well.
    watched(|| assert!((0..100).any(|_| reports_beside_a_squatter() == Some(1)), "one report"));
}
