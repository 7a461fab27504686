//! What fibers take of memory: the stacks of code that is optimised, as this crate's is.

use gossamer::{JoinHandle, Trust, Trustee, spawn_on_with};
use integration_tests::{Tally, isolated, resident_bytes, wait_until, workers};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Fibers of the crowds.
const MANY: usize = 100_000;

/// Fibers of a crowd that have begun.
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Waits until a crowd has begun, and checks its memory.
fn measure(before: usize) {
    wait_until(|| BEGUN.load(Ordering::Relaxed) == MANY);
    // Time for the last ones to fall asleep.
    gossamer::yield_now();
    let each = (resident_bytes() - before) / MANY;
    assert!(each <= 9 * 1024, "{each} bytes each");
}

#[test]
fn a_hundred_thousand_fibers_sleep_on_two_workers_in_nine_kibibytes_each() {
    isolated(|| {
        let tally = Tally::new();
        // Twice: their memory can be had again.
        for _ in 0..2 {
            gossamer::run(workers(2), || {
                let before = resident_bytes();
                BEGUN.store(0, Ordering::Relaxed);
                let body = |_value| {
                    BEGUN.fetch_add(1, Ordering::Relaxed);
                    gossamer::sleep(Duration::from_secs(3600));
                };
                (0..MANY).for_each(|_| drop(gossamer::spawn_with(body, tally.value())));
                measure(before);
            });
        }
        assert_eq!((tally.made(), tally.dropped()), (2 * MANY, 2 * MANY));
    });
}

#[test]
fn a_hundred_thousand_fibers_wait_for_a_trustee_on_four_workers_in_nine_kibibytes_each() {
    isolated(|| {
        gossamer::run(workers(4), || {
            static OPEN: AtomicBool = AtomicBool::new(false);
            let trustees = Trustee::all();
            let before = resident_bytes();
            let number = trustees[3].entrust(0_usize);
            // The trustee is kept from serving until all fibers of the other workers wait for it.
            number.apply_then(
                |_| {
                    while !OPEN.load(Ordering::Relaxed) {
                        thread::sleep(Duration::from_millis(1));
                    }
                },
                |()| (),
            );
            let body = |(number, index): (Trust<usize>, usize)| {
                BEGUN.fetch_add(1, Ordering::Relaxed);
                number.apply_with(
                    |number, index| {
                        *number += 1;
                        index
                    },
                    index,
                )
            };
            let fibers: Vec<_> = (0..MANY)
                .map(|index| spawn_on_with(trustees[index % 3], body, (number.clone(), index)))
                .collect();
            measure(before);
            OPEN.store(true, Ordering::Relaxed);
            assert!(fibers.into_iter().map(JoinHandle::join).eq(0..MANY));
            assert_eq!(number.apply(|number| *number), MANY);
        });
    });
}
