//! A stream from another process to this one. Blocks are neither written nor read, except for one word each, as in
//! perftest.

use benches::measure::{METER, Setting};
use benches::partner::Partner;
use gossamer::stream::{Geometry, Key, Options, Receiver, Sender};
use std::net::SocketAddr;
use std::time::Duration;

/// Where this process listens, for the other one.
const ADDRESS: &str = "RDMA_STREAM";
/// Longer than any measurement.
const LENGTH: u64 = 1 << 42;
const BLOCK: usize = 2 << 20;

/// Bytes per second.
pub(crate) fn rate(fabric: &str, time: Duration) -> f64 {
    // SAFETY: this is the only thread of its process.
    unsafe { std::env::set_var("GOSSAMER_FABRIC", fabric) };
    if let Ok(address) = std::env::var(ADDRESS) {
        produce(address.parse().unwrap_or_else(|error| panic!("{address}: {error}")));
    }
    let listener = Receiver::bind(SocketAddr::from(([127, 0, 0, 1], 0)), options());
    let listener = listener.unwrap_or_else(|error| panic!("{error}"));
    let address = listener.local_addr().unwrap_or_else(|error| panic!("{error}"));
    let _partner = Partner::start(&[(ADDRESS, address.to_string())]);
    std::thread::spawn(move || consume(listener.accept().unwrap_or_else(|error| panic!("{error}"))));
    1e9 / METER.watch(&Setting { budget: time, ..Setting::PLAIN }, 1).nanoseconds()
}

fn options() -> Options {
    let key = Key::from_hex(&"5a".repeat(32)).unwrap_or_else(|error| panic!("{error}"));
    Options::from(Geometry::new().block(BLOCK).ahead(6)).key(key)
}

/// Until the other process, which measures, ends this one.
fn produce(address: SocketAddr) -> ! {
    let sender = Sender::connect(address, LENGTH, options());
    let mut sender = sender.unwrap_or_else(|error| panic!("{error}"));
    let mut number = 0_u64;
    while let Ok(Some(mut block)) = sender.next_block() {
        number += 1;
        block[..8].copy_from_slice(&number.to_ne_bytes());
    }
    loop {
        std::thread::park();
    }
}

fn consume(mut receiver: Receiver) {
    let mut number = 0_u64;
    while let Ok(Some(block)) = receiver.next_block() {
        number += 1;
        assert_eq!(block[..8], number.to_ne_bytes(), "a block came out of order");
        METER.add(0, block.len() as u64);
    }
}
