//! Threads that are not workers use the same sockets, with a runtime or without one.

use super::{echo_server, listener, pair};
use gossamer::net::TcpStream;
use integration_tests::{in_runtime, watched};
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

#[test]
fn a_thread_needs_no_runtime() {
    watched(|| {
        let (mut near, mut far) = pair();
        let thread = std::thread::spawn(move || {
            let mut received = Vec::new();
            far.read_to_end(&mut received).unwrap();
            let sum: usize = received.into_iter().map(usize::from).sum();
            far.write_all(&sum.to_le_bytes()).unwrap();
        });
        near.write_all(&vec![3; 16 << 20]).unwrap();
        near.shutdown(std::net::Shutdown::Write).unwrap();
        let mut sum = [0; 8];
        near.read_exact(&mut sum).unwrap();
        assert_eq!(usize::from_le_bytes(sum), 3 * (16 << 20));
        thread.join().unwrap();
    });
}

#[test]
fn a_thread_gives_up_after_a_limit() {
    watched(|| {
        let limit = Duration::from_millis(30);
        let (mut near, _far) = pair();
        near.set_read_timeout(Some(limit)).unwrap();
        let started = Instant::now();
        assert_eq!(near.read(&mut [0]).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(started.elapsed() >= limit);
        let (listener, _) = listener();
        assert_eq!(listener.accept_timeout(limit).unwrap_err().kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn threads_talk_to_fibers() {
    in_runtime(2, || {
        let (listener, address) = listener();
        let server = echo_server(listener, 4);
        let threads = [(); 4].map(|()| {
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                for round in 0..100_u8 {
                    stream.write_all(&[round]).unwrap();
                    let mut answer = [0];
                    stream.read_exact(&mut answer).unwrap();
                    assert_eq!(answer, [round]);
                }
            })
        });
        assert_eq!(server.join(), 400);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}
