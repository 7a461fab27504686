//! Peers that close, shut down or vanish are noticed, and every descriptor is given back.

use super::{echo_server, listener, other, pair};
use gossamer::net::TcpStream;
use gossamer::{JoinHandle, spawn_on_with, spawn_with};
use integration_tests::{descriptors, in_runtime, isolated, workers};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsRawFd;
use std::sync::OnceLock;
use std::time::Duration;

const A_WHILE: Duration = Duration::from_millis(20);

#[test]
fn a_reader_that_waits_is_woken_when_the_peer_closes() {
    in_runtime(2, || {
        let (near, far) = pair();
        let reader = spawn_on_with(other(), |mut near: TcpStream| near.read(&mut [0]).unwrap(), near);
        gossamer::sleep(A_WHILE);
        drop(far);
        assert_eq!(reader.join(), 0);
    });
}

#[test]
fn a_writer_that_waits_is_woken_when_the_peer_closes() {
    in_runtime(2, || {
        let (near, far) = pair();
        let write = |mut near: TcpStream| near.write_all(&vec![0; 64 << 20]).unwrap_err().kind();
        let writer = spawn_on_with(other(), write, near);
        gossamer::sleep(A_WHILE);
        drop(far);
        assert!(matches!(writer.join(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe));
    });
}

#[test]
fn shutting_down_wakes_who_waits_on_the_same_stream() {
    static SHARED: OnceLock<TcpStream> = OnceLock::new();
    in_runtime(2, || {
        let (near, _far) = pair();
        let stream = SHARED.get_or_init(|| near);
        let reader = gossamer::spawn_on(other(), || SHARED.get().unwrap().read(&mut [0]).unwrap());
        gossamer::sleep(A_WHILE);
        stream.shutdown(Shutdown::Both).unwrap();
        assert_eq!(reader.join(), 0);
    });
}

#[test]
fn nobody_can_connect_once_the_listener_is_dropped() {
    // A process that another test starts has the listener, too, until it executes its program.
    isolated(|| {
        gossamer::run(workers(1), || {
            let (listener, address) = listener();
            assert_eq!(listener.accept_timeout(A_WHILE).unwrap_err().kind(), ErrorKind::TimedOut);
            drop(listener);
            assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::ConnectionRefused);
            let addresses = [address, super::listener().1];
            assert_eq!(TcpStream::connect(&addresses[..1]).unwrap_err().kind(), ErrorKind::ConnectionRefused);
        });
    });
}

#[test]
fn every_descriptor_is_given_back() {
    isolated(|| {
        gossamer::run(workers(2), || {
            let round = |connections: usize| {
                let (listener, address) = listener();
                let server = echo_server(listener, connections);
                let client = |address: SocketAddr| {
                    let mut stream = TcpStream::connect(address).unwrap();
                    stream.write_all(b"!").unwrap();
                    stream.read_exact(&mut [0]).unwrap();
                };
                let clients: Vec<_> = (0..connections).map(|_| spawn_with(client, address)).collect();
                clients.into_iter().for_each(JoinHandle::join);
                assert_eq!(server.join(), connections);
            };
            round(100);
            let before = descriptors();
            (0..10).for_each(|_| round(100));
            assert_eq!(descriptors(), before);
        });
    });
}

/// Reads until the end or an error, with a buffer that no read fills; returns what came.
fn read_to_the_end(mut stream: TcpStream) -> (Vec<u8>, Option<ErrorKind>) {
    let (mut buffer, mut all) = ([0; 100], Vec::new());
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return (all, None),
            Ok(length) => all.extend_from_slice(&buffer[..length]),
            Err(error) => return (all, Some(error.kind())),
        }
    }
}

/// A connection whose second end has been read from once, in a fiber that then calls `read_to_the_end`.
fn pair_with_reader() -> (TcpStream, JoinHandle<(Vec<u8>, Option<ErrorKind>)>) {
    let (mut near, far) = pair();
    let reader = spawn_on_with(other(), read_to_the_end, far);
    near.write_all(b"hello ").unwrap();
    (near, reader)
}

#[test]
fn a_peer_that_writes_and_closes_at_once_is_heard_to_its_end() {
    in_runtime(2, || {
        for round in 0..500_u64 {
            let (mut near, reader) = pair_with_reader();
            // Sometimes the reader is waiting by now, sometimes everything arrives at once.
            if round % 3 > 0 {
                gossamer::sleep(Duration::from_micros(round));
            }
            near.write_all(b"and goodbye").unwrap();
            if round % 2 > 0 {
                gossamer::yield_now();
            }
            drop(near);
            assert_eq!(reader.join(), (b"hello and goodbye".to_vec(), None));
        }
    });
}

#[test]
fn a_peer_that_closes_one_direction_is_heard_to_its_end_and_answered() {
    in_runtime(2, || {
        for round in 0..100 {
            let (mut near, mut far) = pair();
            let server = spawn_with(
                |far: TcpStream| {
                    let mut answering = far.try_clone().unwrap();
                    let (all, error) = read_to_the_end(far);
                    assert_eq!(error, None);
                    answering.write_all(&all).unwrap();
                },
                far.try_clone().unwrap(),
            );
            near.write_all(b"one ").unwrap();
            if round % 2 > 0 {
                gossamer::sleep(Duration::from_micros(100));
            }
            near.write_all(b"two").unwrap();
            near.shutdown(Shutdown::Write).unwrap();
            server.join();
            far.shutdown(Shutdown::Both).unwrap();
            assert_eq!(read_to_the_end(near), (b"one two".to_vec(), None));
            assert_eq!(far.read(&mut [0; 10]).unwrap(), 0);
        }
    });
}

#[test]
fn a_peer_that_resets_the_connection_is_noticed_behind_what_it_wrote() {
    in_runtime(2, || {
        for round in 0..100 {
            let (near, mut far) = pair();
            // If the peer has not read everything when it closes, the kernel resets the connection.
            far.write_all(b"unread").unwrap();
            near.readable().unwrap();
            let mut writing = near.try_clone().unwrap();
            let reader = spawn_on_with(other(), read_to_the_end, far);
            writing.write_all(b"written").unwrap();
            if round % 2 > 0 {
                gossamer::sleep(Duration::from_micros(200));
            }
            drop((near, writing));
            let (came, error) = reader.join();
            assert!(error.is_some_and(|kind| kind == ErrorKind::ConnectionReset), "{error:?}");
            assert!(b"written".starts_with(&came), "{came:?}");
        }
    });
}

#[test]
fn what_comes_behind_urgent_data_is_read_though_the_mark_ends_a_read() {
    in_runtime(2, || {
        let (mut near, far) = pair();
        let reader = spawn_on_with(
            other(),
            |mut far: TcpStream| {
                let (mut buffer, mut all) = ([0; 100], Vec::new());
                while all.last() != Some(&b'!') {
                    let length = far.read(&mut buffer).unwrap();
                    all.extend_from_slice(&buffer[..length]);
                    // Everything of the next message has arrived before it is read.
                    gossamer::sleep(A_WHILE);
                }
                all
            },
            far,
        );
        near.write_all(b"a").unwrap();
        gossamer::sleep(A_WHILE / 2);
        near.write_all(b"b").unwrap();
        // SAFETY: the address and the length are those of a live array.
        let sent = unsafe { libc::send(near.as_raw_fd(), b"c".as_ptr().cast(), 1, libc::MSG_OOB) };
        assert_eq!(sent, 1);
        near.write_all(b"d!").unwrap();
        assert_eq!(reader.join(), b"abd!");
    });
}
