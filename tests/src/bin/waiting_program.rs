//! A program whose fibers wait, for tests: its argument says for what.

use gossamer::sync::{Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

/// Longer than tests let a program stand still.
const LONG: Duration = Duration::from_secs(3);

/// Two fibers take two locks in different orders.
fn locks() {
    let (one, two, both) = (Mutex::new(0), Mutex::new(0), Barrier::new(2));
    let take = |(first, second, both): (Mutex<u8>, Mutex<u8>, Barrier)| {
        let mut first = first.lock();
        both.wait();
        *first += *second.lock();
    };
    let fibers = [
        gossamer::spawn_with(take, (one.clone(), two.clone(), both.clone())),
        gossamer::spawn_with(take, (two, one, both)),
    ];
    for fiber in fibers {
        fiber.join();
    }
}

/// The receiver waits for the end, and has a sender itself.
fn sender() {
    let (sender, mut receiver) = mpsc::channel::<u8>(1);
    while receiver.recv().is_some() {}
    drop(sender);
}

/// Sends after a while; returns whether somebody was there.
fn feed(sender: mpsc::UnboundedSender<u8>) -> bool {
    thread::sleep(LONG);
    sender.send(7).is_ok()
}

/// A thread sends after a while.
fn thread() {
    let (sender, mut receiver) = mpsc::unbounded_channel::<u8>();
    let thread = thread::spawn(|| feed(sender));
    assert_eq!(receiver.recv(), Some(7));
    assert!(thread.join().is_ok_and(|sent| sent));
}

/// The same, by a thread that has the name of one of the library.
fn named() {
    let (sender, mut receiver) = mpsc::unbounded_channel::<u8>();
    let thread = thread::Builder::new().name("gossamer-feed".to_owned()).spawn(|| feed(sender));
    assert_eq!(receiver.recv(), Some(7));
    assert!(thread.is_ok_and(|thread| thread.join().is_ok_and(|sent| sent)));
}

/// The same, by a thread that one of the pool has started.
fn inherited() {
    let (sender, mut receiver) = mpsc::unbounded_channel::<u8>();
    let thread = gossamer::unblock(|| thread::spawn(|| feed(sender)));
    assert_eq!(receiver.recv(), Some(7));
    assert!(thread.join().is_ok_and(|sent| sent));
}

/// The same, by the pool, when the caller has given up.
fn pool() {
    let (sender, mut receiver) = mpsc::unbounded_channel::<u8>();
    assert!(gossamer::timeout(LONG / 100, gossamer::unblock_async(|| feed(sender))).is_err());
    assert_eq!(receiver.recv(), Some(7));
}

/// A fiber sends after a while.
fn time() {
    let (sender, mut receiver) = mpsc::unbounded_channel::<u8>();
    let fiber = gossamer::spawn_with(
        |sender: mpsc::UnboundedSender<u8>| {
            gossamer::sleep(LONG);
            assert!(sender.send(7).is_ok());
        },
        sender,
    );
    assert_eq!(receiver.recv(), Some(7));
    fiber.join();
}

#[gossamer::main]
fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("locks") => locks(),
        Some("sender") => sender(),
        Some("thread") => thread(),
        Some("named") => named(),
        Some("inherited") => inherited(),
        Some("pool") => pool(),
        Some("time") => time(),
        other => panic!("{other:?} is none of those"),
    }
}
