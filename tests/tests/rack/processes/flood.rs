//! Strangers who fill all doors of nodes with connections that say nothing, and come back when these are closed.

use super::relayed::ports;
use super::{Nodes, addresses, node, token, wait};
use crate::PROGRAM;
use gossamer::FabricChoice::Tcp;
use integration_tests::watched;
use std::collections::HashMap;
use std::io::{ErrorKind, Read};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// At each door: more than it answers at a time.
const STRANGERS: usize = 400;
/// How long doors are flooded at most.
const LONGEST: Duration = Duration::from_secs(30);

struct Flood {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<usize>,
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
        let (has_ended, begun) = (Arc::clone(&ends), Instant::now());
        let thread = thread::spawn(move || {
            let (mut doors, mut most) = (HashMap::<u16, Vec<TcpStream>>::new(), 0);
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
                    most = most.max(strangers.len());
                }
                thread::sleep(Duration::from_millis(1));
            }
            most
        });
        Self { ends, thread }
    }

    /// The most strangers that were at one door at a time.
    fn end(self) -> usize {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

#[test]
fn strangers_who_fill_all_doors_do_not_keep_nodes_from_starting() {
    watched(|| {
        let (addresses, token) = (addresses(4, Tcp), token());
        let start = |index| node(PROGRAM, "sum", index, &addresses, &token).spawn().unwrap();
        let mut nodes = Nodes((0..3).map(start).collect());
        let flood = Flood::begin(nodes.0.iter().map(Child::id).collect());
        // All doors are open, and full.
        thread::sleep(Duration::from_secs(2));
        nodes.0.push(start(3));
        let ended = wait(&mut nodes);
        let most = flood.end();
        assert!(most >= 256, "only {most} strangers came");
        assert!(
            ended.iter().all(|node| node.status.success()),
            "{:?}",
            ended.iter().map(|node| &node.errors).collect::<Vec<_>>()
        );
        assert!(ended[0].output.contains("4 processes"));
    });
}
