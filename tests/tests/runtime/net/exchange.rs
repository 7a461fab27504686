//! What is written arrives: many fibers, large amounts, several readers, several workers.

use super::{echo, echo_server, listener, other, pair};
use gossamer::net::TcpStream;
use gossamer::{JoinHandle, spawn_on_with, spawn_with};
use integration_tests::in_runtime;
use std::io::{IoSlice, IoSliceMut, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

fn two_hundred_fibers_echo(workers: usize) {
    const CLIENTS: usize = 200;
    const ROUNDS: usize = 50;
    in_runtime(workers, || {
        let (listener, address) = listener();
        let server = echo_server(listener, CLIENTS);
        let client = |(address, number): (SocketAddr, usize)| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.set_nodelay(true).unwrap();
            for round in 0..ROUNDS {
                let sent = (number * ROUNDS + round).to_le_bytes();
                stream.write_all(&sent).unwrap();
                let mut received = [0; 8];
                stream.read_exact(&mut received).unwrap();
                assert_eq!(received, sent);
            }
        };
        let clients: Vec<_> = (0..CLIENTS).map(|number| spawn_with(client, (address, number))).collect();
        clients.into_iter().for_each(JoinHandle::join);
        assert_eq!(server.join(), CLIENTS * ROUNDS * 8);
    });
}

#[test]
fn two_hundred_fibers_of_one_worker_echo() {
    two_hundred_fibers_echo(1);
}

#[test]
fn two_hundred_fibers_of_four_workers_echo() {
    two_hundred_fibers_echo(4);
}

/// Bytes that differ wherever a swap or a loss could hide.
fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|index| (index ^ (index >> 8) ^ (index >> 16)) as u8).collect()
}

#[test]
fn large_amounts_pass_in_both_directions_at_once_although_every_write_is_partial() {
    const LENGTH: usize = 24 << 20;
    in_runtime(2, || {
        let (near, far) = pair();
        let send_and_receive = |stream: TcpStream| {
            let writer = stream.try_clone().unwrap();
            let writer = spawn_with(
                |mut writer: TcpStream| {
                    writer.write_all(&pattern(LENGTH)).unwrap();
                    writer.shutdown(Shutdown::Write).unwrap();
                },
                writer,
            );
            let mut received = Vec::new();
            (&stream).read_to_end(&mut received).unwrap();
            writer.join();
            assert!(received == pattern(LENGTH));
        };
        let near = spawn_with(send_and_receive, near);
        let far = spawn_on_with(other(), send_and_receive, far);
        near.join();
        far.join();
    });
}

#[test]
fn a_stream_that_waited_on_one_worker_goes_on_waiting_on_another() {
    in_runtime(2, || {
        let (near, far) = pair();
        let echo = spawn_with(echo, far);
        // Each move finds the stream registered with the poller of the first worker.
        let ping = |mut stream: TcpStream| {
            stream.write_all(b"ping").unwrap();
            let mut answer = [0; 4];
            stream.read_exact(&mut answer).unwrap();
            assert_eq!(&answer, b"ping");
            stream
        };
        let mut stream = near;
        for trustee in gossamer::Trustee::all().into_iter().cycle().take(50) {
            stream = spawn_on_with(trustee, ping, stream).join();
        }
        drop(stream);
        assert_eq!(echo.join(), 200);
    });
}

#[test]
fn several_readers_of_one_stream_lose_no_byte_and_no_wake_up() {
    const READERS: usize = 8;
    const BYTES: usize = 20_000;
    static SHARED: OnceLock<TcpStream> = OnceLock::new();
    static RECEIVED: AtomicUsize = AtomicUsize::new(0);
    in_runtime(2, || {
        let (mut near, far) = pair();
        SHARED.set(far).unwrap();
        // One byte at a time: the fiber that is woken first leaves most of the bytes to the others, without a further
        // event.
        let reader = || {
            let mut stream = SHARED.get().unwrap();
            let mut byte = [0];
            while stream.read(&mut byte).unwrap() == 1 {
                RECEIVED.fetch_add(1, Ordering::Relaxed);
            }
        };
        let readers: Vec<_> = (0..READERS).map(|_| gossamer::spawn(reader)).collect();
        for burst in (1..).scan(0, |sent, size| {
            let length = (size % 97 + 1).min(BYTES - *sent);
            *sent += length;
            (length > 0).then_some(length)
        }) {
            near.write_all(&vec![7; burst]).unwrap();
            gossamer::yield_now();
        }
        near.shutdown(Shutdown::Write).unwrap();
        readers.into_iter().for_each(JoinHandle::join);
        assert_eq!(RECEIVED.load(Ordering::Relaxed), BYTES);
    });
}

#[test]
fn several_fibers_accept_on_one_listener() {
    in_runtime(2, || {
        let (listener, address) = listener();
        let acceptors: Vec<_> = (0..10)
            .map(|_| spawn_with(|listener| echo(listener.accept().unwrap().0), listener.try_clone().unwrap()))
            .collect();
        for _ in 0..10 {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(b"x").unwrap();
            let mut answer = [0];
            stream.read_exact(&mut answer).unwrap();
        }
        assert_eq!(acceptors.into_iter().map(JoinHandle::join).sum::<usize>(), 10);
    });
}

#[test]
fn several_buffers_are_written_and_read_at_once_and_peeking_takes_nothing() {
    in_runtime(1, || {
        let (mut near, mut far) = pair();
        assert_eq!(near.write_vectored(&[IoSlice::new(b"ab"), IoSlice::new(b"cde")]).unwrap(), 5);
        let mut peeked = [0; 5];
        assert_eq!(far.peek(&mut peeked).unwrap(), 5);
        let (mut first, mut second) = ([0; 3], [0; 2]);
        let buffers = &mut [IoSliceMut::new(&mut first), IoSliceMut::new(&mut second)];
        assert_eq!(far.read_vectored(buffers).unwrap(), 5);
        assert_eq!((&peeked, &first, &second), (b"abcde", b"abc", b"de"));
    });
}

#[test]
fn names_are_looked_up_in_a_fiber_of_ordinary_stack() {
    in_runtime(1, || {
        let listener = gossamer::net::TcpListener::bind("localhost:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = TcpStream::connect(("localhost", port)).unwrap();
        assert_eq!(stream.peer_addr().unwrap(), listener.local_addr().unwrap());
        let error = TcpStream::connect("no-such-host.invalid:80").unwrap_err();
        assert!(error.to_string().contains("no-such-host.invalid"), "{error}");
    });
}

#[test]
fn sockets_go_to_and_come_from_the_standard_library() {
    in_runtime(1, || {
        let listener =
            gossamer::net::TcpListener::from_std(std::net::TcpListener::bind("127.0.0.1:0").unwrap())
                .unwrap();
        let standard = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut stream = TcpStream::from_std(standard).unwrap();
        let (accepted, peer) = listener.accept().unwrap();
        assert_eq!(peer, stream.local_addr().unwrap());
        // It waits here, and so is registered, before it leaves.
        stream.set_read_timeout(Some(std::time::Duration::from_millis(1))).unwrap();
        assert!(stream.read(&mut [0]).is_err());
        let mut standard = stream.into_std().unwrap();
        let answer = spawn_with(|mut accepted: TcpStream| accepted.write_all(b"!").unwrap(), accepted);
        answer.join();
        let mut byte = [0];
        standard.read_exact(&mut byte).unwrap();
        assert_eq!(&byte, b"!");
    });
}
