//! Fibers are spread over the workers, and stay on theirs.

use gossamer::{JoinHandle, Latch, Trust, Trustee, spawn_on_with};
use integration_tests::{in_runtime, wait_until};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// Does everything that suspends a fiber, again and again, and checks the thread after each.
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
                // A waker that another thread uses.
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
