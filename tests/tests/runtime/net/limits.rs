//! No call waits longer than it may, and giving up leaves nothing behind.

use super::{echo, listener, pair};
use gossamer::net::TcpStream;
use gossamer::spawn_with;
use integration_tests::{in_runtime, isolated, resident_bytes, workers};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(30);

#[test]
fn a_read_gives_up_after_its_limit_and_the_stream_can_still_be_used() {
    in_runtime(1, || {
        let (mut near, mut far) = pair();
        near.set_read_timeout(Some(SHORT)).unwrap();
        assert_eq!(near.read_timeout().unwrap(), Some(SHORT));
        for _ in 0..3 {
            let started = Instant::now();
            let error = near.read(&mut [0]).unwrap_err();
            assert!(started.elapsed() >= SHORT);
            assert_eq!(error.kind(), ErrorKind::TimedOut);
            assert_eq!(error.to_string(), "`TcpStream::read` has waited for 30ms");
        }
        far.write_all(b"!").unwrap();
        assert_eq!(near.read(&mut [0; 9]).unwrap(), 1);
        near.set_read_timeout(None).unwrap();
        let late = |mut far: TcpStream| {
            gossamer::sleep(2 * SHORT);
            far.write_all(b"!").unwrap();
        };
        let late = spawn_with(late, far);
        assert_eq!(near.read(&mut [0; 9]).unwrap(), 1);
        late.join();
    });
}

#[test]
fn a_write_gives_up_after_its_limit_when_the_peer_does_not_read() {
    in_runtime(1, || {
        let (mut near, _far) = pair();
        near.set_write_timeout(Some(SHORT)).unwrap();
        let error = near.write_all(&vec![0; 64 << 20]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "`TcpStream::write` has waited for 30ms");
    });
}

#[test]
fn accepting_gives_up_after_its_limit() {
    in_runtime(1, || {
        let (listener, address) = listener();
        assert_eq!(listener.accept_timeout(SHORT).unwrap_err().kind(), ErrorKind::TimedOut);
        let _stream = TcpStream::connect(address).unwrap();
        assert!(listener.accept_timeout(Duration::from_secs(60)).is_ok());
    });
}

#[test]
fn connecting_gives_up_after_its_limit() {
    in_runtime(1, || {
        let (listener, address) = listener();
        // SAFETY: shortens the queue of a listener that is ours. With room for one, further connections get no answer.
        assert_eq!(unsafe { libc::listen(listener.as_raw_fd(), 0) }, 0);
        let mut queued = Vec::new();
        let error = loop {
            match TcpStream::connect_timeout(&address, SHORT) {
                Ok(stream) => queued.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn a_limit_of_zero_is_refused() {
    in_runtime(1, || {
        let (near, _far) = pair();
        let zero = Some(Duration::ZERO);
        assert_eq!(near.set_read_timeout(zero).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(near.set_write_timeout(zero).unwrap_err().kind(), ErrorKind::InvalidInput);
        let address = near.peer_addr().unwrap();
        let error = TcpStream::connect_timeout(&address, Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    });
}

#[test]
fn limits_that_were_not_reached_take_no_memory() {
    isolated(|| {
        gossamer::run(workers(1), || {
            let (mut near, far) = pair();
            let echo = spawn_with(echo, far);
            near.set_read_timeout(Some(Duration::from_secs(3600))).unwrap();
            let mut ping = |count: usize| {
                for _ in 0..count {
                    near.write_all(b"!").unwrap();
                    near.read_exact(&mut [0]).unwrap();
                }
            };
            ping(1000);
            let before = resident_bytes();
            ping(50_000);
            let grown = resident_bytes().saturating_sub(before);
            assert!(grown < 2 << 20, "{grown} bytes");
            drop(near);
            assert_eq!(echo.join(), 51_000);
        });
    });
}
