//! Raw windows: what is written as memory is read as memory.

use crate::{Join, joins, small, ways};
use gossamer::stream::{Geometry, Options, ReceiveWindow, SendWindow};
use integration_tests::watched;
use std::thread;

/// The thesis's Figure 3.1, in Rust.
pub unsafe fn write(into: *mut u64, count: usize) {
    // SAFETY: the caller's.
    (0..count).for_each(|index| unsafe { into.wrapping_add(index).write(index as u64) });
}

/// The other half of it.
pub unsafe fn read(from: *const u64, count: usize) -> u64 {
    // SAFETY: the caller's.
    (0..count).map(|index| unsafe { from.wrapping_add(index).read() }).fold(0, u64::wrapping_add)
}

/// The result of `read` for what `write` has written.
pub fn sum_to(count: u64) -> u64 {
    (u128::from(count) * u128::from(count.saturating_sub(1)) / 2) as u64
}

pub fn windows(join: Join, length: u64, options: impl Into<Options>) -> (SendWindow, ReceiveWindow) {
    let (sender, receiver) = join.ends(length, options);
    (sender.into_window().unwrap(), receiver.into_window().unwrap())
}

pub fn iota_to_sum(join: Join, length: u64, options: Options) {
    let (mut sender, receiver) = windows(join, length, options);
    let writer = thread::spawn(move || {
        let count = sender.len() / 8;
        // SAFETY: from the front to the back.
        unsafe { write(sender.as_mut_ptr().cast(), count) };
        sender.finish()
    });
    // SAFETY: from the front to the back.
    let sum = unsafe { read(receiver.as_ptr().cast(), receiver.len() / 8) };
    assert_eq!(sum, sum_to(length / 8));
    receiver.finish().unwrap();
    writer.join().unwrap().unwrap();
}

#[test]
fn iota_written_as_memory_is_summed_as_memory() {
    watched(|| {
        for join in joins() {
            for faults in ways() {
                // Each of these pages is waited for, which takes long beside others.
                let pages = Geometry::new().block(4096).ahead(1).comeback(0);
                for (geometry, length) in
                    [(Geometry::default(), 16 << 20), (small(), 16 << 20), (pages, 2 << 20)]
                {
                    iota_to_sum(join, length, Options::from(geometry).faults(faults));
                }
            }
        }
    });
}
