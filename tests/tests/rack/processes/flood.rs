//! Strangers who fill all doors of nodes with connections that say nothing, and come back when these are closed.

use super::relayed::ports;
use super::{Nodes, addresses, node, token, wait};
use crate::PROGRAM;
use gossamer::FabricChoice::Tcp;
use integration_tests::{wait_until, watched};
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// At each door: more than it answers at a time.
const STRANGERS: usize = 400;
/// How long doors are flooded at most.
const LONGEST: Duration = Duration::from_secs(100);

struct Flood {
    ends: Arc<AtomicBool>,
    /// How many strangers are at each door.
    doors: Arc<Mutex<Vec<usize>>>,
    thread: JoinHandle<()>,
}

/// Whether the listener has closed it.
fn is_closed(mut stranger: &TcpStream) -> bool {
    !matches!(stranger.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

fn connect(port: u16) -> Option<TcpStream> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let stranger = TcpStream::connect_timeout(&address, Duration::from_millis(50)).ok()?;
    stranger.set_nonblocking(true).unwrap();
    Some(stranger)
}

impl Flood {
    /// At all doors that these processes open.
    fn begin(processes: Vec<u32>) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let doors = Arc::<Mutex<_>>::default();
        let (has_ended, counts, begun) = (Arc::clone(&ends), Arc::clone(&doors), Instant::now());
        let thread = thread::spawn(move || {
            let mut doors = HashMap::<u16, Vec<TcpStream>>::new();
            while !has_ended.load(Ordering::Relaxed) && begun.elapsed() < LONGEST {
                let open: Vec<u16> = processes.iter().flat_map(|process| ports(*process)).collect();
                doors.retain(|port, _| open.contains(port));
                for port in open {
                    let strangers = doors.entry(port).or_default();
                    strangers.retain(|stranger| !is_closed(stranger));
                    while strangers.len() < STRANGERS {
                        let Some(stranger) = connect(port) else { break };
                        strangers.push(stranger);
                    }
                }
                *counts.lock().unwrap() = doors.values().map(Vec::len).collect();
                thread::sleep(Duration::from_millis(1));
            }
        });
        Self { ends, doors, thread }
    }

    /// Whether this many nodes have doors, with strangers at all of them. One, that of node 0, has room for more.
    fn is_everywhere(&self, nodes: usize) -> bool {
        let doors = self.doors.lock().unwrap();
        doors.len() >= nodes
            && doors.iter().all(|strangers| *strangers >= 128)
            && doors.iter().any(|strangers| *strangers >= 256)
    }

    fn end(self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().unwrap();
    }
}

#[test]
fn strangers_who_fill_all_doors_do_not_keep_nodes_from_starting() {
    watched(|| {
        let (addresses, token) = (addresses(4, Tcp), token());
        let start = |index| node(PROGRAM, "sum", index, &addresses, &token).spawn().unwrap();
        let mut nodes = Nodes((0..3).map(start).collect());
        let flood = Flood::begin(nodes.0.iter().map(Child::id).collect());
        wait_until(|| flood.is_everywhere(3));
        nodes.0.push(start(3));
        let ended = wait(&mut nodes);
        flood.end();
        assert!(
            ended.iter().all(|node| node.status.success()),
            "{:?}",
            ended.iter().map(|node| &node.errors).collect::<Vec<_>>()
        );
        assert!(ended[0].output.contains("4 processes"));
    });
}
