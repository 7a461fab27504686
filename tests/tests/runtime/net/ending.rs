//! When `main` ends, fibers that wait for a socket are cancelled; and a socket outlives the runtime that made it.

use super::{listener, other, pair};
use gossamer::net::{TcpListener, TcpStream};
use gossamer::{spawn_on_with, spawn_with};
use integration_tests::{Tally, descriptors, isolated, panic_text, watched, workers};
use std::io::{BufWriter, Read, Write};
use std::sync::OnceLock;
use std::time::Duration;

#[test]
fn fibers_that_wait_for_sockets_are_unwound_when_main_returns() {
    watched(|| {
        let tally = Tally::new();
        gossamer::run(workers(2), move || {
            let (listener, _) = listener();
            let ((near, _far), (unread, _reader)) = (pair(), pair());
            let accept = |(listener, _counted): (TcpListener, _)| listener.accept().map(|_| ()).unwrap();
            let read = |(mut stream, _counted): (TcpStream, _)| stream.read_exact(&mut [0]).unwrap();
            let write =
                |(mut stream, _counted): (TcpStream, _)| stream.write_all(&vec![0; 64 << 20]).unwrap();
            drop(spawn_with(accept, (listener.try_clone().unwrap(), tally.value())));
            drop(spawn_on_with(other(), accept, (listener, tally.value())));
            drop(spawn_with(read, (near.try_clone().unwrap(), tally.value())));
            drop(spawn_on_with(other(), read, (near, tally.value())));
            drop(spawn_with(write, (unread, tally.value())));
            gossamer::sleep(Duration::from_millis(30));
            assert_eq!(tally.dropped(), 0);
        });
        assert_eq!((tally.made(), tally.dropped()), (5, 5));
    });
}

#[test]
fn a_buffer_that_is_flushed_while_its_fiber_is_cancelled_does_not_hold_up_the_end() {
    watched(|| {
        gossamer::run(workers(1), || {
            let (near, far) = pair();
            let fill = |(near, _far): (TcpStream, TcpStream)| {
                let mut buffered = BufWriter::with_capacity(64 << 20, near);
                buffered.write_all(&vec![0; 32 << 20]).unwrap();
                // Its destructor writes, and nobody reads.
                gossamer::sleep(Duration::from_secs(3600));
            };
            drop(spawn_with(fill, (near, far)));
            gossamer::sleep(Duration::from_millis(30));
        });
    });
}

#[test]
fn a_destructor_that_would_wait_for_its_own_worker_gets_an_error() {
    watched(|| {
        gossamer::run(workers(1), || {
            let (near, far) = pair();
            let reader =
                spawn_with(|mut far: TcpStream| std::io::copy(&mut far, &mut std::io::sink()).unwrap(), far);
            let text = panic_text(|| {
                let mut buffered = BufWriter::with_capacity(64 << 20, near);
                buffered.write_all(&vec![0; 32 << 20]).unwrap();
                panic!("the end of it");
            });
            assert_eq!(text, "the end of it");
            assert!(reader.join() < 32 << 20);
        });
    });
}

#[test]
fn a_stream_serves_a_thread_and_another_runtime_after_its_own_has_ended() {
    watched(|| {
        let (mut near, mut far) = gossamer::run(workers(2), || {
            let (mut near, mut far) = pair();
            // Both wait, and so are registered with a poller that will soon be gone.
            near.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            assert!(near.read(&mut [0]).is_err());
            far.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
            assert!(far.read(&mut [0]).is_err());
            near.set_read_timeout(None).unwrap();
            far.set_read_timeout(None).unwrap();
            (near, far)
        });
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            far.write_all(b"1").unwrap();
            far
        });
        near.read_exact(&mut [0]).unwrap();
        let mut far = writer.join().unwrap();
        gossamer::run(workers(1), move || {
            let reader = spawn_with(|mut near: TcpStream| near.read_exact(&mut [0]).unwrap(), near);
            gossamer::sleep(Duration::from_millis(20));
            far.write_all(b"2").unwrap();
            reader.join();
        });
    });
}

#[test]
fn one_stream_serves_two_runtimes_at_once() {
    static SHARED: OnceLock<TcpStream> = OnceLock::new();
    watched(|| {
        let (near, mut far) = gossamer::run(workers(1), pair);
        SHARED.set(near).unwrap();
        let read = || SHARED.get().unwrap().read_exact(&mut [0]).unwrap();
        let runtimes = [1, 2].map(|count| std::thread::spawn(move || gossamer::run(workers(count), read)));
        std::thread::sleep(Duration::from_millis(20));
        far.write_all(b"1").unwrap();
        std::thread::sleep(Duration::from_millis(20));
        far.write_all(b"2").unwrap();
        runtimes.into_iter().for_each(|runtime| runtime.join().unwrap());
    });
}

#[test]
fn runtimes_that_had_sockets_leave_no_descriptor() {
    isolated(|| {
        let round = || {
            gossamer::run(workers(2), || {
                let (listener, _) = listener();
                drop(spawn_with(|listener: TcpListener| listener.accept().map(|_| ()).unwrap(), listener));
                let (near, _far) = pair();
                drop(spawn_on_with(other(), |mut near: TcpStream| near.read_exact(&mut [0]).unwrap(), near));
                gossamer::sleep(Duration::from_millis(5));
            });
        };
        round();
        let before = descriptors();
        (0..20).for_each(|_| round());
        assert_eq!(descriptors(), before);
    });
}
