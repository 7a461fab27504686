//! Ends that close, shut down or vanish are noticed, and every descriptor is given back.

use super::{echo_server, listener, other, pair};
use gossamer::net::TcpStream;
use gossamer::{JoinHandle, spawn_on_with, spawn_with};
use integration_tests::{descriptors, in_runtime, isolated, workers};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr};
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
    // A process that another test starts has the listener, too, until it begins its program.
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
