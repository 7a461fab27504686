//! Ports for programs that a test starts.

use std::net::{IpAddr, TcpListener};
use std::ops::Range;
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
        let free = |port| TcpListener::bind((address, port)).is_ok();
        if let Some(ports) = ports(std::process::id(), next, count).filter(|ports| ports.clone().all(free)) {
            return ports.start;
        }
    }
    panic!("{address} has no {count} free ports from {FIRST} on")
}

/// The ports of a process from its `next` on; none where they would go beyond the last one, since those of the
/// process that follows begin with the first.
fn ports(process: u32, next: u32, count: u16) -> Option<Range<u16>> {
    let at = process.wrapping_mul(OF_A_PROCESS).wrapping_add(next) % COUNT;
    let first = (FIRST + at) as u16;
    (at + u32::from(count) <= COUNT).then(|| first..first + count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ports_that_a_process_asks_for_one_after_the_other_never_overlap() {
        for process in 0..2_000 {
            let mut told = HashSet::new();
            let mut next = 0;
            for count in [4, 1, 3, 1, 2, 16, 1].repeat(4) {
                let ports = ports(process, next, count);
                next += u32::from(count);
                assert!(ports.into_iter().flatten().all(|port| told.insert(port)), "process {process}");
            }
        }
    }
}
