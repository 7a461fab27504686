//! Fibers stay on their worker, and a hundred thousand of them live at once in little memory.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

use gossamer::{JoinHandle, Latch, Trust, Trustee, spawn_on_with};
use integration_tests::{Tally, in_runtime, isolated, resident_bytes, wait_until, workers};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Everything that suspends a fiber, again and again; checks the thread after each.
fn wander((numbers, latches, seed): (Vec<Trust<u64>>, Vec<Trust<Latch<u64>>>, u64)) {
    thread_local! {
        static OWN: Cell<usize> = const { Cell::new(usize::MAX) };
    }
    let (home, index) = (thread::current().id(), Trustee::here().index());
    OWN.set(index);
    let mut random = fastrand::Rng::with_seed(seed);
    for _ in 0..60 {
        let target = random.usize(..numbers.len());
        match random.u8(..8) {
            0 => gossamer::yield_now(),
            1 => gossamer::sleep(Duration::from_micros(random.u64(..500))),
            2 => numbers[target].apply(|number| *number += 1),
            3 => numbers[target].apply_with_async(|number, by| *number += by, 1).wait(),
            4 => numbers[target].trustee().spawn(|| gossamer::yield_now()).join(),
            5 => (0..300).for_each(|_| numbers[target].apply_then(|number| *number += 1, |()| ())),
            6 => latches[target].launch(|value| {
                gossamer::yield_now();
                *value += 1;
            }),
            _ => {
                let thread = thread::spawn(|| ());
                // A waker that is used by another thread.
                let fiber = numbers[target].trustee().spawn(|| gossamer::sleep(Duration::from_micros(50)));
                fiber.join();
                wait_until(|| thread.is_finished());
            }
        }
        assert_eq!((thread::current().id(), Trustee::here().index(), OWN.get()), (home, index, index));
    }
}

#[test]
fn no_fiber_leaves_its_worker() {
    in_runtime(3, || {
        let all = Trustee::all();
        let numbers: Vec<_> = all.iter().map(|trustee| trustee.entrust(0_u64)).collect();
        let latches: Vec<_> = all.iter().map(|trustee| trustee.entrust(Latch::new(0_u64))).collect();
        let fibers: Vec<_> = (0..90_u64)
            .map(|seed| {
                let arguments = (numbers.clone(), latches.clone(), seed);
                spawn_on_with(all[seed as usize % 3], wander, arguments)
            })
            .collect();
        fibers.into_iter().for_each(JoinHandle::join);
    });
}

#[test]
fn spawn_spreads_fibers_over_all_workers() {
    in_runtime(3, || {
        let fibers: Vec<_> = (0..300).map(|_| gossamer::spawn(|| Trustee::here().index())).collect();
        let mut counts = [0; 3];
        fibers.into_iter().for_each(|fiber| counts[fiber.join()] += 1);
        assert_eq!(counts, [100; 3]);
    });
}

#[test]
fn delegated_closures_and_callbacks_run_where_they_should() {
    in_runtime(3, || {
        for trustee in Trustee::all() {
            let number = trustee.entrust(0_u64);
            assert_eq!(number.apply(|_| Trustee::here().index()), trustee.index());
            let home = Trustee::here();
            static CALLED: AtomicUsize = AtomicUsize::new(0);
            CALLED.store(0, Ordering::Relaxed);
            number.apply_then(
                |_| Trustee::here().index(),
                move |index| {
                    assert_eq!((index, Trustee::here()), (trustee.index(), home));
                    CALLED.fetch_add(1, Ordering::Relaxed);
                },
            );
            wait_until(|| CALLED.load(Ordering::Relaxed) == 1);
            assert_eq!(trustee.spawn(|| Trustee::here().index()).join(), trustee.index());
        }
    });
}

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
    isolated("a_hundred_thousand_fibers_sleep_on_two_workers_in_nine_kibibytes_each", || {
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
    isolated("a_hundred_thousand_fibers_wait_for_a_trustee_on_four_workers_in_nine_kibibytes_each", || {
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
