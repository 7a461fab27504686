//! Nodes as processes, as a launcher or a list starts them: they find each other, agree on what they run, and end together.

mod fate;
mod flood;
mod harmed;
mod last_words;
mod protection;
mod rdma;
mod relayed;
mod squatters;
mod streams;
mod traces;

use crate::PROGRAM;
use gossamer::FabricChoice::{self, Shm, Tcp, Verbs};
use integration_tests::{fabrics, free_ports, is_tested, token, watched, with_rdma};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const TOKEN: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

/// Nodes of one program, ended with the test.
struct Nodes(Vec<Child>);

impl Drop for Nodes {
    fn drop(&mut self) {
        for node in &mut self.0 {
            let _ended = node.kill();
            let _reaped = node.wait();
        }
    }
}

/// How a node ended.
struct Ended {
    status: ExitStatus,
    output: String,
    errors: String,
}

/// Addresses for this many nodes that this fabric joins.
fn addresses(nodes: usize, fabric: FabricChoice) -> String {
    let token = token();
    if fabric == FabricChoice::Shm {
        return (0..nodes)
            .map(|node| format!("unix:test-{}-{node}", &token[..16]))
            .collect::<Vec<_>>()
            .join(",");
    }
    let first = free_ports(Ipv4Addr::LOCALHOST, nodes as u16);
    (first..).take(nodes).map(|port| format!("127.0.0.1:{port}")).collect::<Vec<_>>().join(",")
}

fn node(program: &str, what: &str, node: usize, addresses: &str, token: &str) -> Command {
    let mut command = Command::new(program);
    command.arg(what).env("GOSSAMER_NODES", addresses).env("GOSSAMER_NODE", node.to_string());
    command.env("GOSSAMER_TOKEN", token).env("GOSSAMER_THREADS", "2").env("GOSSAMER_START_SECONDS", "100");
    command.env("GOSSAMER_FABRIC", if addresses.starts_with("unix:") { "shm" } else { "tcp" });
    // On a busy machine, long computations are expected here and need no report.
    command.env("GOSSAMER_BLOCKED_MILLISECONDS", "0");
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null());
    command
}

fn start(what: &str, nodes: usize, fabric: FabricChoice) -> Nodes {
    start_with(what, nodes, fabric, &[])
}

fn start_with(what: &str, nodes: usize, fabric: FabricChoice, variables: &[(&str, &str)]) -> Nodes {
    start_each(what, nodes, fabric, |_, node| {
        node.envs(variables.iter().copied());
    })
}

/// Starts nodes of which each is prepared by its number.
fn start_each(
    what: &str,
    nodes: usize,
    fabric: FabricChoice,
    mut prepare: impl FnMut(usize, &mut Command),
) -> Nodes {
    let (addresses, token) = (addresses(nodes, fabric), token());
    let start = |index| {
        let mut node = node(PROGRAM, what, index, &addresses, &token);
        node.env("GOSSAMER_FABRIC", fabric.to_string());
        if fabric == FabricChoice::Verbs {
            with_rdma(&mut node);
        }
        prepare(index, &mut node);
        node.spawn().unwrap()
    };
    // Node 0 comes last: the others wait for it.
    let mut nodes: Vec<Child> = (0..nodes).rev().map(start).collect();
    nodes.reverse();
    Nodes(nodes)
}

/// Waits until `sleep` runs on all nodes.
fn wait_until_up(nodes: &mut Nodes) {
    let mut line = String::new();
    BufReader::new(nodes.0[0].stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, format!("{} nodes are up\n", nodes.0.len()));
}

fn text(source: Option<impl Read>) -> String {
    let mut text = String::new();
    if let Some(mut source) = source {
        source.read_to_string(&mut text).unwrap();
    }
    text
}

fn wait(nodes: &mut Nodes) -> Vec<Ended> {
    let wait = |node: &mut Child| {
        let (output, errors) = (text(node.stdout.take()), text(node.stderr.take()));
        Ended { status: node.wait().unwrap(), output, errors }
    };
    nodes.0.iter_mut().map(wait).collect()
}

fn signal(node: &Child, signal: i32) {
    let process = i32::try_from(node.id()).unwrap();
    // SAFETY: sends a signal to a child that nobody has waited for.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0);
}

#[test]
fn processes_compute_what_one_process_does() {
    watched(|| {
        let all = [(1, Shm), (2, Shm), (4, Shm), (3, Tcp), (3, Verbs)];
        for (nodes, fabric) in all.into_iter().filter(|(_, fabric)| is_tested(*fabric)) {
            let sum = ("sum", format!("1090 digits, {nodes} processes\n"));
            for (what, says) in [sum, ("stream", format!("{nodes} streams, all are right: true\n"))] {
                let ended = wait(&mut start(what, nodes, fabric));
                for node in &ended {
                    assert!(node.status.success(), "{}: {}", node.status, node.errors);
                }
                assert_eq!(ended[0].output, says);
                assert!(ended[1..].iter().all(|node| node.output.is_empty() && node.errors.is_empty()));
            }
        }
    });
}

#[test]
fn nodes_are_loaded_at_different_addresses() {
    watched(|| {
        let ended = wait(&mut start("addresses", 4, Shm));
        let mut addresses: Vec<&str> =
            ended[0].output.lines().map(|line| line.split_once(' ').unwrap().1).collect();
        addresses.sort_unstable();
        addresses.dedup();
        assert!(addresses.len() > 1, "address space layout randomisation is off? {}", ended[0].output);
    });
}

#[test]
fn a_panic_in_main_ends_all_nodes_with_one_report() {
    watched(|| {
        for fabric in fabrics() {
            let ended = wait(&mut start("panic", 3, fabric));
            assert_eq!(ended[0].status.code(), Some(101));
            assert!(ended[0].errors.contains("as asked for"), "{}", ended[0].errors);
            for node in &ended[1..] {
                assert_eq!((node.status.code(), node.errors.as_str()), (Some(75), ""));
            }
        }
    });
}

#[test]
fn a_node_that_does_not_come_is_named() {
    watched(|| {
        let (addresses, token) = (addresses(3, Shm), token());
        let start = |index| {
            node(PROGRAM, "sum", index, &addresses, &token)
                .env("GOSSAMER_START_SECONDS", "4")
                .spawn()
                .unwrap()
        };
        let ended = wait(&mut Nodes(vec![start(0), start(2)]));
        assert_eq!(ended[0].status.code(), Some(2));
        assert!(ended[0].errors.contains("node 1 of 3 did not come to unix:"), "{}", ended[0].errors);
        assert_eq!(ended[1].status.code(), Some(2), "{}", ended[1].errors);
    });
}

#[test]
fn a_node_with_another_token_is_no_node() {
    watched(|| {
        let (addresses, token) = (addresses(2, Shm), token());
        let start = |index, token: &str| {
            node(PROGRAM, "sum", index, &addresses, token).env("GOSSAMER_START_SECONDS", "4").spawn().unwrap()
        };
        let ended = wait(&mut Nodes(vec![start(0, &token), start(1, TOKEN)]));
        assert!(ended[0].errors.contains("node 1 of 2 did not come"), "{}", ended[0].errors);
        assert!(ended[1].errors.contains("does not know the token"), "{}", ended[1].errors);
    });
}

#[test]
fn a_node_that_runs_another_program_is_told_what_differs() {
    watched(|| {
        let (addresses, token) = (addresses(2, Shm), token());
        let own = std::env::current_exe().unwrap();
        let other = node(own.to_str().unwrap(), "--ignored", 1, &addresses, &token)
            .args(["--exact", "processes::as_another_program"])
            .spawn()
            .unwrap();
        let first = node(PROGRAM, "sum", 0, &addresses, &token).spawn().unwrap();
        let ended = wait(&mut Nodes(vec![first, other]));
        assert_eq!(ended[0].status.code(), Some(2));
        let report = &ended[0].errors;
        assert!(report.contains("node 1 on") && report.contains("another program"), "{report}");
        assert!(report.contains("only node 0 has: `rack_program::"), "{report}");
        let place = "`rack_program::fault_there::{{closure}}` at tests/src/bin/rack_program.rs:";
        assert!(report.contains(place), "{report}");
        let (_, others) = report.split_once("only the other has: ").unwrap();
        assert!(others.contains("`rack::"), "{report}");
    });
}

/// A program with another name; only the test above runs it.
#[test]
#[ignore = "it is a program that another test starts"]
fn as_another_program() {
    gossamer::run(gossamer::Config::default(), || gossamer::entrust(1).apply(|number| *number += 1));
}

#[test]
fn two_processes_that_are_the_same_node_are_told() {
    watched(|| {
        let (addresses, token) = (addresses(3, Shm), token());
        let start = |index| {
            node(PROGRAM, "sum", index, &addresses, &token)
                .env("GOSSAMER_START_SECONDS", "2")
                .spawn()
                .unwrap()
        };
        let first = start(1);
        // It finds the name of its socket taken, now or a little later.
        let second = start(1);
        let ended = wait(&mut Nodes(vec![first, second, start(0)]));
        let complaints = ended.iter().filter(|node| !node.status.success()).count();
        assert!(complaints >= 1);
        let all: String = ended.iter().map(|node| node.errors.as_str()).collect();
        assert!(
            all.contains("does another application use the same token?") || all.contains("two processes"),
            "{all}"
        );
    });
}

#[test]
fn strangers_at_the_door_of_node_0_do_no_harm() {
    watched(|| {
        let (addresses, token) = (addresses(2, Tcp), token());
        let port = addresses.split(',').next().unwrap().to_owned();
        let first = node(PROGRAM, "sum", 0, &addresses, &token).spawn().unwrap();
        let mut strangers = Vec::new();
        let due = Instant::now() + Duration::from_secs(20);
        while strangers.len() < 100 && Instant::now() < due {
            match TcpStream::connect(&port) {
                Ok(mut stranger) => {
                    let words: &[u8] = match strangers.len() % 3 {
                        0 => b"GET / HTTP/1.1\r\nHost: node\r\n\r\nGET / HTTP/1.1\r\n\r\n",
                        1 => &[0xff; 4096],
                        // Says nothing, and stays connected.
                        _ => b"",
                    };
                    let _refused = stranger.write_all(words);
                    strangers.push(stranger);
                }
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        }
        let second = node(PROGRAM, "sum", 1, &addresses, &token).spawn().unwrap();
        let ended = wait(&mut Nodes(vec![first, second]));
        assert!(ended.iter().all(|node| node.status.success()), "{}{}", ended[0].errors, ended[1].errors);
        assert!(ended[0].output.contains("2 processes"));
    });
}

/// The names of nodes' sockets on this machine, which every user can read.
fn socket_names() -> Vec<String> {
    let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
    let names = sockets.lines().filter_map(|line| line.split_once(" @gossamer-"));
    names.map(|(_, name)| format!("gossamer-{name}")).collect()
}

/// Connects to the socket of this name, unless its queue is full: some are other tests', which accept nobody.
fn connect(name: &str) -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new_abstract_name(name.as_bytes())?)?;
    Ok(socket)
}

/// Connects to the sockets of these names, again and again.
fn come(names: Vec<String>, strangers: &mut Vec<OwnedFd>) {
    let names = names.into_iter().flat_map(|name| std::iter::repeat_n(name, 20));
    strangers.extend(names.filter_map(|name| connect(&name).ok()));
    strangers.drain(..strangers.len().saturating_sub(200));
}

/// Binds names like these.
fn take_siblings(names: Vec<String>, taken: &mut Vec<UnixListener>) {
    let siblings = |name: String| {
        let stem = name.rsplit_once('-').map_or(name.clone(), |(stem, _)| stem.to_owned());
        (1..8).map(move |node| format!("{stem}-{node}"))
    };
    let bind = |name: String| UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).ok()?).ok();
    taken.extend(names.into_iter().flat_map(siblings).filter_map(bind));
}

/// Sets a flag when it is dropped, so also if a test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Starts three nodes while somebody interferes as soon as their sockets have names, which is so for some milliseconds.
fn start_beside<T: 'static>(attack: fn(Vec<String>, &mut Vec<T>)) {
    let has_attacked = move |_round| {
        let (ends, attacked) = (AtomicBool::new(false), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut held = Vec::new();
                while !ends.load(Ordering::Relaxed) {
                    attack(socket_names(), &mut held);
                    attacked.fetch_or(!held.is_empty(), Ordering::Relaxed);
                }
            });
            let _ending = Ending(&ends);
            let (addresses, token) = (addresses(3, Shm), token());
            let start = |index| node(PROGRAM, "sum", index, &addresses, &token).spawn().unwrap();
            let ended = wait(&mut Nodes((0..3).map(start).collect()));
            assert!(ended.iter().all(|node| node.status.success()), "{}{}", ended[0].errors, ended[2].errors);
        });
        attacked.into_inner()
    };
    watched(move || assert!((0..100).any(has_attacked), "no stranger came in time"));
}

#[test]
fn strangers_at_the_door_of_shared_memory_do_not_hold_up_the_start() {
    start_beside(come);
}

#[test]
fn a_stranger_who_sees_the_names_of_some_nodes_cannot_take_those_of_others() {
    start_beside(take_siblings);
}

#[test]
fn nothing_is_left_of_an_application_that_was_killed() {
    watched(|| {
        let (addresses, token) = (addresses(2, Shm), token());
        let start = |index| node(PROGRAM, "sleep", index, &addresses, &token).spawn().unwrap();
        let mut nodes = Nodes(vec![start(0), start(1)]);
        wait_until_up(&mut nodes);
        let pids: Vec<u32> = nodes.0.iter().map(Child::id).collect();
        nodes.0[0].kill().unwrap();
        wait(&mut nodes);
        for pid in pids {
            assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists());
        }
        let files = |directory: &str| {
            let names =
                std::fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.file_name());
            names.filter(|name| name.to_string_lossy().contains("gossamer")).count()
        };
        assert_eq!(files("/dev/shm"), 0);
        let sockets = std::fs::read_to_string("/proc/net/unix").unwrap();
        let name = addresses.split(',').next().unwrap().strip_prefix("unix:").unwrap();
        assert!(!sockets.contains(name), "{sockets}");
    });
}
