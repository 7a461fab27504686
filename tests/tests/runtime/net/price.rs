//! How many system calls a request over a socket costs.

use super::{echo, listener};
use gossamer::Trustee;
use integration_tests::{SystemCalls, count_system_calls, watched, workers};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const CONNECTIONS: usize = 50;
/// How many requests each connection makes before counting begins, and how many after.
const WARM_UP: usize = 20;
const ROUNDS: usize = 100;
/// Bytes of a pipeline of requests.
const PIPELINE: usize = 16 * 32;

#[test]
#[ignore = "it is a program that other tests start"]
fn a_server_that_echoes() {
    gossamer::run(workers(2), || {
        let (listener, address) = listener();
        println!("\nlistens: {}", address.port());
        let workers = Trustee::all().into_iter().cycle();
        for (stream, worker) in listener.incoming().zip(workers) {
            drop(gossamer::spawn_on_with(worker, echo, stream.unwrap()));
        }
    });
}

/// The program of this test file, as a server.
fn server() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["net::price::a_server_that_echoes", "--exact", "--ignored", "--nocapture"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Where it listens.
fn port(server: &mut Child) -> u16 {
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let mut ports = lines.filter_map(|line| line.unwrap().strip_prefix("listens: ")?.parse().ok());
    ports.next().expect("a port")
}

/// All connections send their requests at once, and then read their answers.
fn ask(streams: &mut [TcpStream], rounds: usize) {
    let (asked, mut answer) = ([7; PIPELINE], [0; PIPELINE]);
    for _ in 0..rounds {
        streams.iter_mut().for_each(|stream| stream.write_all(&asked).unwrap());
        streams.iter_mut().for_each(|stream| stream.read_exact(&mut answer).unwrap());
        assert_eq!(answer, asked);
    }
}

/// How often one of some calls was made, for each pipeline.
fn each(calls: &SystemCalls, numbers: &[libc::c_long]) -> f64 {
    let made: u64 = numbers.iter().filter_map(|number| calls.get(&(*number as u64))).sum();
    made as f64 / (CONNECTIONS * ROUNDS) as f64
}

#[test]
fn a_pipeline_of_requests_costs_one_read_one_write_and_half_a_poll() {
    watched(|| {
        let is_counting = AtomicBool::new(false);
        let calls = thread::scope(|scope| {
            let drive = |mut server: Child| {
                let mut streams: Vec<_> = {
                    let port = port(&mut server);
                    (0..CONNECTIONS).map(|_| TcpStream::connect(("127.0.0.1", port)).unwrap()).collect()
                };
                ask(&mut streams, WARM_UP);
                is_counting.store(true, Ordering::Relaxed);
                ask(&mut streams, ROUNDS);
                is_counting.store(false, Ordering::Relaxed);
                server.kill().unwrap();
            };
            count_system_calls(server(), &is_counting, |server| drop(scope.spawn(move || drive(server))))
        });
        let Some(calls) = calls else { return };
        // Where other programs keep a worker from its processor, the thread that watches it opens and reads files.
        let reads = each(&calls, &[libc::SYS_recvfrom, libc::SYS_recvmsg, libc::SYS_read, libc::SYS_readv])
            - each(&calls, &[libc::SYS_openat]);
        let writes = each(&calls, &[libc::SYS_sendto, libc::SYS_sendmsg, libc::SYS_write, libc::SYS_writev]);
        let polls = each(&calls, &[libc::SYS_epoll_wait, libc::SYS_epoll_pwait, libc::SYS_ppoll]);
        println!("{reads} reads, {writes} writes, {polls} polls for each; in all {calls:?}");
        assert!((0.99..=1.05).contains(&reads), "{reads} reads for each pipeline: {calls:?}");
        // A worker that wakes up after a quiet time wakes the thread that watches it.
        assert!((1.0..=1.05).contains(&writes), "{writes} writes for each pipeline: {calls:?}");
        assert!(0.0 < polls && polls <= 0.5, "{polls} polls for each pipeline: {calls:?}");
    });
}
