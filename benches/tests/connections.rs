//! Ten thousand connections at once: how they are accepted, and what they take of memory, also after they have closed.
#![expect(unsafe_code, reason = "options of sockets and limits of the process that `std` does not have")]
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use gossamer::net::{TcpListener, TcpStream};
use integration_tests::{isolated, resident_bytes, workers};
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections, if the process may have as many descriptors.
const MANY: usize = 10_000;
/// Descriptors of a process for other things.
const OTHERS: usize = 200;
/// Bytes of a request, and of the stack that the answer to it takes.
const REQUEST: usize = 64;
const DEEP: usize = 48 << 10;
/// How long memory may take to go back.
const A_WHILE: Duration = Duration::from_secs(60);

/// As many connections as this process may have, up to `MANY`, once it has asked for all descriptors that it may have.
fn connections() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a live value.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
    let connections = (limit.rlim_max as usize).saturating_sub(OTHERS).min(MANY);
    if connections < MANY {
        println!(
            "{connections} connections instead of {MANY}: the limit of descriptors is {}",
            limit.rlim_max
        );
    }
    connections
}

/// A program of clients, which does what it is told.
struct Clients {
    _program: Child,
    orders: ChildStdin,
    reports: BufReader<ChildStdout>,
}

impl Clients {
    fn start(port: u16) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["clients_of_a_server", "--exact", "--ignored", "--nocapture"]);
        command.env("SERVER_PORT", port.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let (orders, reports) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
        Self { _program: program, orders, reports: BufReader::new(reports) }
    }

    /// Gives an order, and waits as a fiber until it is done.
    fn order(mut self, order: String) -> Self {
        gossamer::unblock(move || {
            writeln!(self.orders, "{order}").unwrap();
            let done = (&mut self.reports).lines().map(Result::unwrap).any(|line| line == "done");
            assert!(done, "the clients have failed at {order}");
            self
        })
    }
}

#[test]
#[ignore = "it is a program that other tests start"]
fn clients_of_a_server() {
    let Ok(port) = std::env::var("SERVER_PORT") else { return };
    let port: u16 = port.parse().unwrap();
    connections();
    let mut streams = Vec::new();
    for line in std::io::stdin().lines() {
        match line.unwrap().split_once(' ').unwrap() {
            ("connect", count) => {
                let connect = |_| std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
                streams.extend((0..count.parse().unwrap()).map(connect));
            }
            ("ask", _) => {
                streams.iter_mut().for_each(|stream| stream.write_all(&[7; REQUEST]).unwrap());
                streams.iter_mut().for_each(|stream| stream.read_exact(&mut [0; REQUEST]).unwrap());
            }
            _ => streams.clear(),
        }
        println!("\ndone");
    }
}

/// Connections whose fiber has ended.
static ENDED: AtomicUsize = AtomicUsize::new(0);

#[inline(never)]
fn touch_stack() {
    black_box([1_u8; DEEP]);
}

/// Answers requests until the peer closes.
fn serve(mut stream: TcpStream) {
    let mut request = [0; REQUEST];
    while stream.read_exact(&mut request).is_ok() {
        touch_stack();
        stream.write_all(&request).unwrap();
    }
    ENDED.fetch_add(1, Ordering::Relaxed);
}

fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

/// Connections that may wait for this listener, and how often one found no room.
fn waiting_room(listener: &TcpListener) -> (usize, u32) {
    let option = |level, name, words: &mut [u32]| {
        let mut length = size_of_val(words) as libc::socklen_t;
        // SAFETY: `words` has room for `length` bytes.
        let status = unsafe {
            libc::getsockopt(listener.as_raw_fd(), level, name, words.as_mut_ptr().cast(), &mut length)
        };
        assert_eq!(status, 0);
    };
    // Of a listener, `tcpi_sacked` says how many may wait.
    let mut info = [0_u32; 8];
    option(libc::IPPROTO_TCP, libc::TCP_INFO, &mut info);
    // SO_MEMINFO, and in it SK_MEMINFO_DROPS.
    let mut memory = [0_u32; 9];
    option(libc::SOL_SOCKET, 55, &mut memory);
    (info[7] as usize, memory[8])
}

/// As many connections as may wait connect before one is accepted; again, until there are so many.
fn accept_all(mut clients: Clients, listener: &TcpListener, connections: usize) -> Clients {
    let (room, _) = waiting_room(listener);
    let mut accepted = 0;
    while accepted < connections {
        let wave = room.min(connections - accepted);
        clients = clients.order(format!("connect {wave}"));
        for stream in listener.incoming().take(wave) {
            drop(gossamer::spawn_with(serve, stream.unwrap()));
        }
        accepted += wave;
    }
    clients
}

/// Waits until the memory above `before` is at most this, and checks it.
fn shrinks_to(before: usize, most: usize, what: &str) {
    let started = Instant::now();
    while resident_bytes().saturating_sub(before) > most && started.elapsed() < A_WHILE {
        gossamer::sleep(Duration::from_millis(100));
    }
    let taken = resident_bytes().saturating_sub(before);
    println!("{what}: {taken} bytes after {:?}", started.elapsed());
    assert!(taken <= most, "{what}: {taken} bytes of memory, and {most} would do");
}

#[test]
fn ten_thousand_connections_find_room_take_eight_kibibytes_each_and_give_them_back() {
    isolated(|| {
        let connections = connections();
        gossamer::run(workers(2), move || {
            let (listener, port) = listener();
            let somaxconn = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
            assert_eq!(waiting_room(&listener), (somaxconn.trim().parse::<usize>().unwrap().min(4096), 0));
            let mut clients = accept_all(Clients::start(port), &listener, 100).order("close all".into());
            let before = resident_bytes();
            clients = accept_all(clients, &listener, connections);
            assert_eq!(
                waiting_room(&listener).1,
                0,
                "connections that found no room, and tried again a second later"
            );
            clients = clients.order("ask once".into());
            shrinks_to(before, connections * 8 * 1024, "connections that wait for their next request");
            // Those that have given memory back go on.
            drop(clients.order("ask again".into()).order("close all".into()));
            while ENDED.load(Ordering::Relaxed) < 100 + connections {
                gossamer::sleep(Duration::from_millis(10));
            }
            shrinks_to(before, connections * 1024, "after all have closed");
        });
    });
}
