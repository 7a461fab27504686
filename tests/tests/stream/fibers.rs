//! Safe calls in fibers: those that wait let the others run.

use crate::{bytes_at, key, small};
use gossamer::stream::{Options, Receiver, Route, Sender};
use integration_tests::in_runtime;
use std::io::{Read, Write};
use std::net::SocketAddr;

const LENGTH: usize = 2_000_000;

fn options(tcp: bool) -> Options {
    Options::from(small()).key(key()).route(if tcp { Route::Tcp } else { Route::Auto })
}

#[test]
fn two_fibers_of_one_worker_are_the_ends_of_a_stream() {
    in_runtime(1, || {
        for tcp in [false, true] {
            let listener = Receiver::bind("127.0.0.1:0", options(tcp)).unwrap();
            let address = listener.local_addr().unwrap();
            let sending = gossamer::spawn_with(
                |(address, tcp): (SocketAddr, bool)| {
                    let mut sender = Sender::connect(address, LENGTH as u64, options(tcp)).unwrap();
                    sender.write_all(&bytes_at(0, LENGTH)).unwrap();
                    sender.finish().unwrap();
                },
                (address, tcp),
            );
            // Waits until the other fiber has connected, and for each of its blocks.
            let mut receiver = listener.accept().unwrap();
            let mut received = Vec::new();
            receiver.read_to_end(&mut received).unwrap();
            assert!(received == bytes_at(0, LENGTH));
            sending.join();
        }
    });
}
