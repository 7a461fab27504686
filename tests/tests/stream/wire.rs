//! What arrives over a connection when it is changed on its way, comes from strangers, or is late.

use crate::{Join, byte_at, bytes_at, joins, key, small};
use gossamer::stream::{Error, Geometry, Options, Receiver, Route, Sender};
use integration_tests::{isolated, threads, wait_until, watched};
use std::io::{Read, Seek, SeekFrom, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

pub(crate) fn options() -> Options {
    Options::from(small()).key(key()).route(Route::Tcp)
}

/// Copies bytes, and changes one bit of the byte at `changed`.
fn forward(mut from: TcpStream, mut to: TcpStream, changed: Option<usize>) {
    let (mut at, mut buffer) = (0, [0; 4096]);
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if let Some(place) = changed.and_then(|changed| buffer[..count].get_mut(changed.wrapping_sub(at))) {
            *place ^= 0x10;
        }
        at += count;
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _gone = to.shutdown(Shutdown::Write);
}

/// A way to `target` that changes a byte of what the connecting end says, or of what it hears.
fn proxy(target: SocketAddr, said: Option<usize>, heard: Option<usize>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        let (near, far) = (listener.accept().unwrap().0, TcpStream::connect(target).unwrap());
        let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
        thread::spawn(move || forward(far_too, near_too, heard));
        forward(near, far, said);
    });
    address
}

/// A stream whose sender connects; returns how its two ends ended.
fn through_a_proxy(said: Option<usize>, heard: Option<usize>) -> (Result<(), Error>, Result<(), Error>) {
    with_options(&options(), said, heard)
}

/// As `through_a_proxy`.
pub(crate) fn with_options(
    options: &Options,
    said: Option<usize>,
    heard: Option<usize>,
) -> (Result<(), Error>, Result<(), Error>) {
    const LENGTH: usize = 300_000;
    let listener = Receiver::bind("127.0.0.1:0", options.clone()).unwrap();
    let address = proxy(listener.local_addr().unwrap(), said, heard);
    let options = options.clone();
    let sending = thread::spawn(move || {
        let mut sender = Sender::connect(address, LENGTH as u64, options)?;
        sender.write_everything(&bytes_at(0, LENGTH))?;
        sender.finish()
    });
    let received = listener.accept().and_then(|mut receiver| {
        let mut at = 0;
        while let Some(block) = receiver.next_block()? {
            assert!(block[..] == bytes_at(at, block.len()), "wrong bytes in the block at {at}");
            at += block.len() as u64;
        }
        assert_eq!(at, LENGTH as u64);
        Ok(())
    });
    (sending.join().unwrap(), received)
}

/// The length of an end's introduction.
pub(crate) const HELLO: usize = 89;
/// How many bytes the connecting end says before its first frame: handshake, introduction, and that it shares no
/// memory.
pub(crate) const SAID: usize = 56 + 32 + HELLO + 1;
/// How many bytes it hears before that: handshake and introduction.
pub(crate) const HEARD: usize = 32 + 32 + HELLO;
const FRAME: usize = 48;

#[test]
fn a_bit_that_changes_on_its_way_is_an_error_and_never_wrong_data() {
    watched(|| {
        assert_eq!(through_a_proxy(None, None), (Ok(()), Ok(())));
        let second = FRAME + (1 << 16);
        for at in (0..FRAME).step_by(5).chain([FRAME, second - 1, second, second + 17, 2 * second + 999]) {
            let (sent, received) = through_a_proxy(Some(SAID + at), None);
            let in_a_frame = at % second < FRAME;
            let error = received.unwrap_err();
            match error {
                Error::Protocol { .. } if in_a_frame => {}
                Error::Checksum { at: place } if !in_a_frame => {
                    assert_eq!(place, (at / second * (1 << 16)) as u64);
                }
                _ => panic!("byte {at}: {error}"),
            }
            assert!(sent.is_err(), "byte {at}");
        }
    });
}

#[test]
fn a_bit_that_changes_in_an_answer_is_an_error() {
    watched(|| {
        for at in (0..FRAME).step_by(5) {
            let (sent, _received) = through_a_proxy(None, Some(HEARD + at));
            assert!(matches!(sent, Err(Error::Protocol { .. })), "byte {at}: {sent:?}");
        }
    });
}

#[test]
fn a_bit_that_changes_in_a_hello_is_no_stream() {
    watched(|| {
        for at in (HEARD - HELLO..HEARD).step_by(11) {
            let listener = Receiver::bind("127.0.0.1:0", options()).unwrap();
            let address = proxy(listener.local_addr().unwrap(), None, Some(at));
            let accepting = thread::spawn(move || listener.accept().map(drop));
            assert!(Sender::connect(address, 10, options()).is_err(), "byte {at}");
            assert!(accepting.join().unwrap().is_err(), "byte {at}");
        }
    });
}

#[test]
fn strangers_who_say_garbage_or_little_or_nothing_hold_up_nobody() {
    isolated(|| {
        let listener = Receiver::bind("127.0.0.1:0", options()).unwrap();
        let address = listener.local_addr().unwrap();
        let before = threads();
        let accepting = thread::spawn(move || {
            let mut text = String::new();
            listener.accept().unwrap().read_to_string(&mut text).unwrap();
            text
        });
        let strangers: Vec<_> = (0..300)
            .map(|number| {
                let mut stranger = TcpStream::connect(address).unwrap();
                let says = [&b"GET / HTTP/1.1\r\n\r\n"[..], b"gossam\0\x02slow", b"g", b""][number % 4];
                stranger.write_all(says).unwrap();
                stranger
            })
            .collect();
        wait_until(|| threads() < before + 100);
        let mut sender = Sender::connect(address, 5, options()).unwrap();
        sender.write_all(b"hello").unwrap();
        sender.finish().unwrap();
        assert_eq!(accepting.join().unwrap(), "hello");
        // The listener is gone, and with it the connections that waited.
        wait_until(|| threads() <= before);
        drop(strangers);
    });
}

#[test]
fn what_a_slow_receiver_reads_is_what_was_written_however_small_the_ring() {
    watched(|| {
        const LENGTH: usize = 6 << 20;
        for join in joins() {
            for (block, ahead, comeback) in [(1 << 16, 1, 0), (1 << 17, 1, 1), (1 << 16, 3, 1)] {
                let geometry = Geometry::new().block(block).ahead(ahead).comeback(comeback);
                let (mut sender, mut receiver) = join.ends(LENGTH as u64, geometry);
                let writing = thread::spawn(move || {
                    // Every byte of every block is different, so that a slot that is used again too early shows.
                    for at in (0..LENGTH).step_by(50_000) {
                        let count = (LENGTH - at).min(50_000);
                        sender.write_all(&bytes_at(at as u64, count)).unwrap();
                    }
                    sender.finish()
                });
                let mut at = 0;
                while let Some(block) = receiver.next_block().unwrap() {
                    thread::sleep(Duration::from_micros(300));
                    assert!(
                        block[..] == bytes_at(at, block.len()),
                        "{join:?}, {geometry}: the block at {at}"
                    );
                    at += block.len() as u64;
                }
                assert_eq!(at, LENGTH as u64);
                writing.join().unwrap().unwrap();
            }
        }
    });
}

#[test]
fn what_a_receiver_skips_does_not_change_what_it_reads() {
    watched(|| {
        const LENGTH: u64 = 8 << 20;
        for join in [Join::Shared, Join::Tcp, Join::ThreeConnections] {
            let (mut sender, mut receiver) = join.ends(LENGTH, small());
            let writing = thread::spawn(move || {
                sender.write_all(&bytes_at(0, LENGTH as usize)).unwrap();
                sender.finish()
            });
            for at in (0..LENGTH).step_by(700_000) {
                receiver.seek(SeekFrom::Start(at)).unwrap();
                let mut some = [0; 1000];
                receiver.read_exact(&mut some).unwrap();
                assert!((at..).zip(some).all(|(offset, byte)| byte == byte_at(offset)), "{join:?} at {at}");
            }
            receiver.finish().unwrap();
            writing.join().unwrap().unwrap();
        }
    });
}
