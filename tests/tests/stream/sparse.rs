//! Windows larger than memory: touched here and there, or from end to end, with no more memory than the ring.

use crate::raw::windows;
use crate::{Join, small, ways};
use gossamer::stream::{Geometry, Options};
use integration_tests::{isolated, resident_bytes, watched};
use std::thread;

/// Touches `places` of a window of `length` bytes at both ends, in order.
fn touch(
    join: Join,
    length: u64,
    options: Options,
    places: impl Iterator<Item = u64> + Clone + Send + 'static,
) {
    let (mut sender, receiver) = windows(join, length, options);
    let seen = places.clone();
    let writing = thread::spawn(move || {
        for place in places {
            // SAFETY: from the front to the back.
            unsafe { sender.as_mut_ptr().wrapping_add(place as usize).cast::<u64>().write(place | 1) };
        }
        sender.finish()
    });
    for place in seen {
        // SAFETY: from the front to the back.
        assert_eq!(unsafe { receiver.as_ptr().wrapping_add(place as usize).cast::<u64>().read() }, place | 1);
    }
    receiver.finish().unwrap();
    writing.join().unwrap().unwrap();
}

#[test]
fn two_tebibytes_are_touched_here_and_there() {
    watched(|| {
        for join in [Join::Pair, Join::Shared, Join::Tcp, Join::ThreeConnections] {
            for faults in ways() {
                let options = Options::from(Geometry::default()).faults(faults);
                touch(join, 2 << 40, options, (0..64).map(|step| step * 34_359_000_000 / 8 * 8));
            }
        }
    });
}

#[test]
fn what_lies_between_is_zeros() {
    watched(|| {
        for join in [Join::Pair, Join::Tcp] {
            for faults in ways() {
                let (mut sender, receiver) = windows(join, 1 << 30, Options::from(small()).faults(faults));
                let writing = thread::spawn(move || {
                    // SAFETY: from the front to the back.
                    unsafe { sender.as_mut_ptr().wrapping_add(1 << 29).write(7) };
                    sender.finish()
                });
                // SAFETY: from the front to the back.
                let window = unsafe { receiver.as_slice() };
                assert!(window[..1 << 20].iter().all(|byte| *byte == 0));
                assert_eq!((window[1 << 29], window[(1 << 30) - 1]), (7, 0));
                receiver.finish().unwrap();
                writing.join().unwrap().unwrap();
            }
        }
    });
}

#[test]
fn sixty_four_gibibytes_take_the_memory_of_the_ring() {
    isolated(|| {
        for faults in ways() {
            let before = resident_bytes();
            let geometry = Geometry::default();
            let options = Options::from(geometry).faults(faults);
            let watching = thread::spawn(move || {
                let mut most = 0;
                for _ in 0..50 {
                    most = most.max(resident_bytes());
                    thread::sleep(std::time::Duration::from_millis(10));
                }
                most
            });
            // Each block is touched at its start: all are mapped, and go through the ring.
            touch(Join::Shared, 64 << 30, options, (0..64 << 9).map(|block| block << 21));
            let most = watching.join().unwrap();
            // If several mappings share memory, it counts once for each: two rings, and their blocks in two windows.
            let limit = before + 4 * geometry.ring_bytes() + (8 << 20);
            assert!(most < limit, "{most} bytes are resident, {before} before");
        }
    });
}
