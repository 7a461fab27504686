//! Nothing grows without bound, and nobody starves beside a busy neighbour.

use gossamer::{Trust, Trustee, entrust, spawn_on_with};
use integration_tests::{Tally, in_runtime, isolated, near_and_far, resident_bytes, wait_until, workers};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const MIB: usize = 1 << 20;

#[test]
fn ten_million_requests_without_waiting_take_no_more_memory_than_a_lane() {
    isolated(|| {
        gossamer::run(workers(2), || {
            for trustee in Trustee::all() {
                let number = trustee.entrust(0_u64);
                let before = resident_bytes();
                let mut most = 0;
                for index in 0..5_000_000_u64 {
                    number.apply_with_then(|number, by| *number += by, 1, |()| ());
                    if index.is_multiple_of(100_000) {
                        most = most.max(resident_bytes());
                    }
                }
                assert_eq!(number.apply(|number| *number), 5_000_000);
                assert!(most < before + 8 * MIB, "{before} bytes became {most}");
            }
        });
    });
}

#[test]
fn requests_with_large_arguments_take_no_more_memory_than_a_lane_of_them() {
    isolated(|| {
        gossamer::run(workers(2), || {
            let number = Trustee::all()[1].entrust(0_usize);
            let before = resident_bytes();
            let mut most = 0;
            for _ in 0..100_000 {
                number.apply_with_then(
                    |number, bytes: [u8; 4096]| *number += bytes.len(),
                    [1; 4096],
                    |()| (),
                );
                most = most.max(resident_bytes());
            }
            assert_eq!(number.apply(|number| *number), 100_000 * 4096);
            assert!(most < before + 64 * MIB, "{before} bytes became {most}");
        });
    });
}

/// Sends `count` requests to a property that counts them.
fn send_many(number: &Trust<u64>, count: u64) {
    for _ in 0..count {
        number.apply_then(|number| *number += 1, |()| ());
    }
}

/// Runs for ever, until the test is over.
fn busy(number: Trust<u64>, stop: impl Fn() -> bool) {
    while !stop() {
        number.apply(|number| *number += 1);
    }
}

#[test]
fn a_fiber_that_always_applies_starves_neither_fibers_nor_timers_nor_requests() {
    near_and_far(|trustee| {
        static STOP: AtomicBool = AtomicBool::new(false);
        STOP.store(false, Ordering::Relaxed);
        let number = entrust(0_u64);
        let busy = trustee.spawn_with(
            |_far| {
                let number = entrust(0_u64);
                busy(number, || STOP.load(Ordering::Relaxed));
            },
            number.clone(),
        );
        // All of these need the worker that is busy.
        assert_eq!(trustee.spawn(|| 7).join(), 7);
        trustee.spawn(|| gossamer::sleep(Duration::from_millis(5))).join();
        let there = trustee.entrust(1);
        assert_eq!(there.apply(|number| *number), 1);
        let tally = Tally::new();
        drop(trustee.entrust(tally.value()));
        wait_until(|| tally.is_even());
        STOP.store(true, Ordering::Relaxed);
        busy.join();
    });
}

#[test]
fn a_property_is_made_in_the_initialiser_of_a_static_whoever_waits_for_it() {
    static NUMBERS: LazyLock<Trust<Vec<u64>>> = LazyLock::new(|| entrust(Vec::new()));
    let push = |number| NUMBERS.apply_with(|all: &mut Vec<u64>, new| all.push(new), number);
    isolated(move || {
        gossamer::run(workers(2), move || {
            let there = Trustee::all()[1];
            let fibers: Vec<_> = (0..1000_u64).map(|number| there.spawn_with(push, number)).collect();
            fibers.into_iter().for_each(|fiber| fiber.join());
            assert_eq!(NUMBERS.apply(|all| all.len()), 1000);
        });
    });
}

#[test]
fn callbacks_that_always_send_again_starve_neither_fibers_nor_timers_nor_requests() {
    near_and_far(|trustee| {
        static STOP: AtomicBool = AtomicBool::new(false);
        static RUNNING: AtomicU64 = AtomicU64::new(0);
        fn again(number: Trust<u64>) {
            if STOP.load(Ordering::Relaxed) {
                RUNNING.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            let next = number.clone();
            number.apply_then(|number| *number += 1, move |()| again(next));
            // It is slower than the trustee, so that answers are always there.
            (0..500).for_each(|_| std::hint::spin_loop());
        }
        STOP.store(false, Ordering::Relaxed);
        let number = trustee.entrust(0_u64);
        RUNNING.store(5000, Ordering::Relaxed);
        (0..5000).for_each(|_| again(number.clone()));
        for worker in Trustee::all() {
            assert_eq!(worker.spawn(|| 7).join(), 7);
            worker.spawn(|| gossamer::sleep(Duration::from_millis(5))).join();
            assert_eq!(worker.entrust(1).apply(|number| *number), 1);
        }
        STOP.store(true, Ordering::Relaxed);
        wait_until(|| RUNNING.load(Ordering::Relaxed) == 0);
    });
}

#[test]
fn closures_that_always_send_on_starve_neither_fibers_nor_timers_nor_requests() {
    in_runtime(2, || {
        static STOP: AtomicBool = AtomicBool::new(false);
        static RUNNING: AtomicU64 = AtomicU64::new(500);
        type Pair = Vec<Trust<u64>>;
        fn bounce(_: &mut u64, mut pair: Pair) {
            if STOP.load(Ordering::Relaxed) {
                RUNNING.fetch_sub(1, Ordering::Relaxed);
                return;
            }
            pair.rotate_left(1);
            pair[0].clone().apply_with_then(bounce, pair, |()| ());
        }
        let all = Trustee::all();
        for (one, two) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let pair = vec![all[one].entrust(0_u64), all[two].entrust(0_u64)];
            (0..125).for_each(|_| bounce(&mut 0, pair.clone()));
        }
        for worker in all {
            assert_eq!(worker.spawn(|| 7).join(), 7);
            worker.spawn(|| gossamer::sleep(Duration::from_millis(5))).join();
            assert_eq!(worker.entrust(1).apply(|number| *number), 1);
        }
        STOP.store(true, Ordering::Relaxed);
        wait_until(|| RUNNING.load(Ordering::Relaxed) == 0);
    });
}

#[test]
fn foreign_threads_that_always_send_starve_neither_fibers_nor_timers() {
    in_runtime(2, || {
        static STOP: AtomicBool = AtomicBool::new(false);
        let number = Trustee::all()[1].entrust(0_u64);
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let number = number.clone();
                std::thread::spawn(move || {
                    while !STOP.load(Ordering::Relaxed) {
                        let pending: Vec<_> =
                            (0..100).map(|_| number.apply_async(|number| *number += 1)).collect();
                        pending.into_iter().for_each(gossamer::Pending::wait);
                    }
                })
            })
            .collect();
        for worker in Trustee::all() {
            assert_eq!(worker.spawn(|| 7).join(), 7);
            worker.spawn(|| gossamer::sleep(Duration::from_millis(5))).join();
        }
        STOP.store(true, Ordering::Relaxed);
        wait_until(|| threads.iter().all(|thread| thread.is_finished()));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn workers_that_flood_each_other_do_not_wait_for_each_other_for_ever() {
    for threads in [2, 3, 8] {
        in_runtime(threads, move || {
            let all = Trustee::all();
            let numbers: Vec<_> = all.iter().map(|trustee| trustee.entrust(0_u64)).collect();
            let fibers: Vec<_> = (0..threads * 4)
                .map(|index| {
                    let body = |numbers: Vec<Trust<u64>>| {
                        for round in 0..200 {
                            numbers.iter().for_each(|number| send_many(number, 100));
                            if round % 20 == 0 {
                                numbers.iter().for_each(|number| number.apply(|_| ()));
                            }
                        }
                    };
                    spawn_on_with(all[index % threads], body, numbers.clone())
                })
                .collect();
            fibers.into_iter().for_each(|fiber| fiber.join());
            // A fiber's last requests may still be on their way when it ends.
            let expected = threads as u64 * 4 * 200 * 100;
            wait_until(|| numbers.iter().all(|number| number.apply(|number| *number) == expected));
        });
    }
}

#[test]
fn rings_of_workers_each_of_which_blocks_on_the_next_go_round() {
    for threads in [2, 3, 8] {
        in_runtime(threads, move || {
            let all = Trustee::all();
            let numbers: Vec<_> = all.iter().map(|trustee| trustee.entrust(0_u64)).collect();
            let fibers: Vec<_> = (0..threads * 10)
                .map(|index| {
                    let body = |(next, count): (Trust<u64>, u64)| {
                        (0..count).for_each(|_| next.apply(|number| *number += 1));
                    };
                    let next = numbers[(index + 1) % threads].clone();
                    spawn_on_with(all[index % threads], body, (next, 1000))
                })
                .collect();
            fibers.into_iter().for_each(|fiber| fiber.join());
            assert!(numbers.iter().all(|number| number.apply(|number| *number) == 10_000));
        });
    }
}

#[test]
fn a_runtime_without_any_backlog_is_refused() {
    let error = gossamer::try_run(workers(1).backlog(0), || ()).unwrap_err();
    assert!(error.to_string().contains("backlog of 0"), "{error}");
}

#[test]
fn a_callback_may_send_as_long_as_there_are_slots_whatever_the_backlog() {
    integration_tests::watched(|| {
        gossamer::run(workers(2).backlog(1), || {
            let number = Trustee::all()[1].entrust(0_u64);
            let again = number.clone();
            number.apply_then(
                |_| (),
                move |()| (0..300).for_each(|_| again.apply_then(|number| *number += 1, |()| ())),
            );
            wait_until(|| number.apply(|number| *number) == 300);
        });
    });
}

#[test]
fn sleeps_of_no_length_let_others_run() {
    in_runtime(1, || {
        for length in [Duration::ZERO, Duration::from_nanos(20)] {
            let other = Trustee::here().spawn(|| ());
            while !other.is_finished() {
                gossamer::sleep(length);
            }
            other.join();
        }
    });
}
