//! Memory streams: `gossamer::stream`, inside a process, in shared memory, over TCP, sealed, and over a simulated RDMA device.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod attacked;
mod calls;
mod channels;
mod fibers;
mod flood;
mod flushed;
mod forking;
mod forks;
mod killed;
mod meeting;
mod random;
mod random_windows;
mod raw;
mod rdma;
mod safe;
mod sealed;
mod sizes;
mod sparse;
mod together;
mod trouble;
mod unprivileged;
mod wire;

use gossamer::Protection;
use gossamer::stream::{self, Faults, Geometry, Key, Length, Options, Receiver, Route, Sender};
use std::thread;

/// Blocks of 64 KiB, four of them ahead: much happens with few bytes.
fn small() -> Geometry {
    Geometry::new().block(1 << 16).ahead(4).comeback(1)
}

fn key() -> Key {
    Key::from_hex(&"5a".repeat(32)).unwrap()
}

/// How two ends are joined.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Join {
    Pair,
    Shared,
    Tcp,
    Tcp6,
    ThreeConnections,
    Authenticated,
    Encrypted,
}

/// The ways of joining ends in this process: where the environment asks for RDMA, only those that use it.
fn joins() -> Vec<Join> {
    if rdma::is_asked_for() {
        return vec![Join::Shared];
    }
    use Join::*;
    vec![Pair, Shared, Tcp, Tcp6, ThreeConnections, Authenticated, Encrypted]
}

impl Join {
    fn options(self, options: Options) -> Options {
        let options = options.key(key());
        match self {
            Self::Pair | Self::Shared => options,
            Self::Tcp | Self::Tcp6 => options.route(Route::Tcp),
            Self::ThreeConnections => options.route(Route::Tcp).connections(3),
            Self::Authenticated => options.route(Route::Tcp).protection(Protection::Authenticated),
            Self::Encrypted => options.route(Route::Tcp).connections(2).protection(Protection::Encrypted),
        }
    }

    /// Both ends; each in turn is the one that listens.
    fn ends(self, length: impl Into<Length>, options: impl Into<Options>) -> (Sender, Receiver) {
        let (length, options) = (length.into(), self.options(options.into()));
        let any = if self == Self::Tcp6 { "[::1]:0" } else { "127.0.0.1:0" };
        match self {
            Self::Pair => stream::pair(length, options).unwrap(),
            Self::Shared | Self::Tcp6 => {
                let listener = Sender::bind(any, length, options.clone()).unwrap();
                let address = listener.local_addr().unwrap();
                let receiver = thread::spawn(move || Receiver::connect(address, options).unwrap());
                (listener.accept().unwrap(), receiver.join().unwrap())
            }
            Self::Tcp | Self::ThreeConnections | Self::Authenticated | Self::Encrypted => {
                let listener = Receiver::bind(any, options.clone()).unwrap();
                let address = listener.local_addr().unwrap();
                let sender = thread::spawn(move || Sender::connect(address, length, options).unwrap());
                let receiver = listener.accept().unwrap();
                (sender.join().unwrap(), receiver)
            }
        }
    }
}

/// The ways of detecting faults that work here.
fn ways() -> Vec<Faults> {
    let (sender, _receiver) =
        stream::pair(0, Options::new().geometry(small()).faults(Faults::Userfault)).unwrap();
    match sender.into_window() {
        Ok(_) => vec![Faults::Signal, Faults::Userfault],
        Err(_) => vec![Faults::Signal],
    }
}

/// The byte at a place of a stream, so that no swap goes unseen.
fn byte_at(offset: u64) -> u8 {
    (offset ^ (offset >> 8) ^ (offset >> 16) ^ (offset >> 24)) as u8
}

fn bytes_at(offset: u64, count: usize) -> Vec<u8> {
    (offset..offset + count as u64).map(byte_at).collect()
}
