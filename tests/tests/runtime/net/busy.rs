//! Sockets, fibers and trustees do not starve each other, and a runtime that waits for a socket sleeps.

use super::{echo_server, listener, other, pair};
use gossamer::net::TcpStream;
use gossamer::{JoinHandle, Trust, Trustee, spawn_on, spawn_on_with, spawn_with};
use integration_tests::{cpu_time, in_runtime, isolated, wait_until, workers};
use std::io::{ErrorKind, Read, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Echoes 200 times.
fn echo_meanwhile() {
    let (listener, address) = listener();
    let server = echo_server(listener, 2);
    let client = |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        for _ in 0..100 {
            stream.write_all(b"!").unwrap();
            stream.read_exact(&mut [0]).unwrap();
        }
    };
    let clients = [spawn_with(client, address), spawn_with(client, address)];
    clients.into_iter().for_each(JoinHandle::join);
    assert_eq!(server.join(), 200);
}

#[test]
fn a_fiber_that_only_yields_starves_no_socket() {
    static DONE: AtomicBool = AtomicBool::new(false);
    in_runtime(1, || {
        let yielding = gossamer::spawn(|| {
            while !DONE.load(Ordering::Relaxed) {
                gossamer::yield_now();
            }
        });
        echo_meanwhile();
        DONE.store(true, Ordering::Relaxed);
        yielding.join();
    });
}

#[test]
fn a_storm_of_requests_starves_no_socket() {
    static CONNECTED: AtomicUsize = AtomicUsize::new(0);
    static STORM: AtomicBool = AtomicBool::new(false);
    in_runtime(2, || {
        let (listener, address) = listener();
        let server = echo_server(listener, 2);
        let client = |address| {
            let mut stream = TcpStream::connect(address).unwrap();
            let mut ping = || {
                stream.write_all(b"!").unwrap();
                stream.read_exact(&mut [0]).unwrap();
            };
            ping();
            CONNECTED.fetch_add(1, Ordering::Relaxed);
            wait_until(|| STORM.load(Ordering::Relaxed));
            (0..100).for_each(|_| ping());
            if CONNECTED.fetch_sub(1, Ordering::Relaxed) == 1 {
                STORM.store(false, Ordering::Relaxed);
            }
        };
        let clients = [spawn_with(client, address), spawn_with(client, address)];
        wait_until(|| CONNECTED.load(Ordering::Relaxed) == 2);
        STORM.store(true, Ordering::Relaxed);
        let storm = |counter: Trust<u64>| {
            while STORM.load(Ordering::Relaxed) {
                counter.apply_then(|count| *count += 1, |()| ());
            }
        };
        let mut storms = Vec::new();
        for at in Trustee::all() {
            for to in Trustee::all() {
                storms.push(spawn_on_with(at, storm, to.entrust(0)));
            }
        }
        clients.into_iter().chain(storms).for_each(JoinHandle::join);
        assert_eq!(server.join(), 202);
    });
}

#[test]
fn a_peer_that_sends_without_pause_starves_no_trustee() {
    static DONE: AtomicBool = AtomicBool::new(false);
    in_runtime(2, || {
        let (mut near, far) = pair();
        // It is a thread, so that the reader's worker has nothing else to do.
        let sender = std::thread::spawn(move || while near.write_all(&[0; 65536]).is_ok() {});
        let reader = |mut far: TcpStream| {
            while !DONE.load(Ordering::Relaxed) {
                // One byte at a time: the sender is always ahead, so no read has to wait.
                far.read_exact(&mut [0]).unwrap();
            }
        };
        far.peek(&mut [0]).unwrap();
        let reader = spawn_on_with(other(), reader, far);
        let counter = other().entrust(0_u64);
        for _ in 0..1000 {
            counter.apply(|count| *count += 1);
        }
        DONE.store(true, Ordering::Relaxed);
        reader.join();
        sender.join().unwrap();
    });
}

#[test]
fn a_runtime_that_waits_for_a_socket_sleeps() {
    isolated(|| {
        gossamer::run(workers(2), || {
            let (listener, _) = listener();
            let second = listener.try_clone().unwrap();
            drop(spawn_on_with(
                other(),
                |listener: gossamer::net::TcpListener| drop(listener.accept()),
                second,
            ));
            drop(spawn_on(other(), || gossamer::sleep(Duration::from_secs(3600))));
            assert_eq!(
                listener.accept_timeout(Duration::from_millis(100)).unwrap_err().kind(),
                ErrorKind::TimedOut
            );
            let before = cpu_time();
            assert_eq!(
                listener.accept_timeout(Duration::from_secs(1)).unwrap_err().kind(),
                ErrorKind::TimedOut
            );
            let used = cpu_time() - before;
            println!("{used:?} of processor time in 1 s");
            assert!(used < Duration::from_millis(100), "{used:?} of processor time in 1 s");
        });
    });
}
