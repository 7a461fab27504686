//! Ports for programs that a test starts.

use std::net::{IpAddr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// The first of those given out here: below the ports that the kernel gives to connections and to whoever asks for
/// any (`ip_local_port_range`), so that none of those takes one before the program that is started does.
const FIRST: u32 = 10_000;
const COUNT: u32 = 20_000;
/// Those of one process before another one's begin.
const OF_A_PROCESS: u32 = 100;

/// The first of this many consecutive ports of an address that nobody has at the moment, and that no other test of
/// this process is told.
///
/// # Panics
/// If there are none, as at an address of another machine.
pub fn free_ports(address: impl Into<IpAddr>, count: u16) -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let address = address.into();
    for _ in 0..COUNT {
        // Relaxed: only the number counts.
        let next = NEXT.fetch_add(count.into(), Ordering::Relaxed);
        let at =
            std::process::id().wrapping_mul(OF_A_PROCESS).wrapping_add(next) % (COUNT - u32::from(count));
        let first = (FIRST + at) as u16;
        if (first..first + count).all(|port| TcpListener::bind((address, port)).is_ok()) {
            return first;
        }
    }
    panic!("{address} has no {count} free ports from {FIRST} on")
}
