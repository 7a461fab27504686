//! `rack::wait_all`: when it returns, work of every kind, on all workers and nodes, is done; and it does return.

use gossamer::{Trust, Trustee, entrust, rack, spawn_on_with, spawn_with};
use integration_tests::{in_runtime, on_nodes, watched, workers};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The next of a sequence of numbers without a pattern.
fn scramble(seed: u64) -> u64 {
    let mixed = (seed ^ (seed >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5677);
    mixed ^ (mixed >> 29)
}

/// What a step in a random tree of work does next: each of its branches is another step.
fn branches(seed: u64, depth: u32) -> impl Iterator<Item = u64> {
    let count = if depth == 0 { 0 } else { scramble(seed) % 4 };
    (0..count).map(move |branch| scramble(seed.wrapping_add(branch + 1)))
}

/// The number of steps in a tree.
fn size(seed: u64, depth: u32) -> u64 {
    1 + branches(seed, depth).map(|next| size(next, depth - 1)).sum::<u64>()
}

/// A property at each worker counts the steps that were done there.
type Counts = Vec<Trust<u64>>;

/// A step that nobody waits for: a fiber, or a request of a fiber or of a delegated closure, anywhere.
#[gossamer::delegate]
fn step((seed, depth, counts): (u64, u32, Counts)) {
    let there = counts[(seed % counts.len() as u64) as usize].clone();
    let arguments = (seed, depth, counts.clone());
    match seed / 7 % 3 {
        0 => {
            let _detached = spawn_with(const { |arguments| go_on(arguments) }, arguments);
        }
        1 => {
            let _detached = spawn_on_with(there.trustee(), const { |arguments| go_on(arguments) }, arguments);
        }
        _ => there.apply_with_then(|_, arguments| go_on(arguments), arguments, drop),
    }
}

#[gossamer::delegate]
fn go_on((seed, depth, counts): (u64, u32, Counts)) {
    counts[Trustee::here().index()].apply_then(|count| *count += 1, drop);
    for next in branches(seed, depth) {
        step((next, depth - 1, counts.clone()));
    }
}

#[gossamer::delegate]
fn settle_trees() {
    let counts: Counts = Trustee::all().iter().map(|there| there.entrust(0_u64)).collect();
    let mut expected = 0;
    for round in 0..150_u64 {
        let (seed, depth) = (scramble(round), (round % 8) as u32);
        step((seed, depth, counts.clone()));
        expected += size(seed, depth);
        rack::wait_all();
        let done: u64 = counts.iter().map(|count| count.apply(|count| *count)).sum();
        assert_eq!(done, expected, "in round {round}");
    }
}

#[test]
fn trees_of_fibers_and_requests_that_nobody_waits_for_are_done_on_all_workers() {
    for count in [1, 2, 4] {
        in_runtime(count, settle_trees);
    }
}

#[test]
fn trees_of_fibers_and_requests_that_nobody_waits_for_are_done_on_all_nodes() {
    on_nodes(2, 2, settle_trees);
    on_nodes(4, 1, settle_trees);
}

/// Fibers that wait at the same time, one on each worker, each for its own work and for that of the others.
#[gossamer::delegate]
fn wait_at_once() {
    let sum = Trustee::all().last().unwrap().entrust(0_u64);
    let returned = entrust(0_u64);
    for round in 1..=20 {
        for there in Trustee::all() {
            let waits = const {
                |(sum, returned): (Trust<u64>, Trust<u64>)| {
                    sum.apply_then(|sum| *sum += 1, drop);
                    rack::wait_all();
                    returned.apply_then(|returned| *returned += 1, drop);
                }
            };
            let _detached = spawn_on_with(there, waits, (sum.clone(), returned.clone()));
        }
        rack::wait_all();
        let workers = Trustee::all().len() as u64;
        assert_eq!(sum.apply(|sum| *sum), workers * round);
        // Those have gone on when all of them have returned.
        while returned.apply(|returned| *returned) < workers * round {
            gossamer::yield_now();
        }
    }
}

#[test]
fn fibers_that_wait_at_once_all_go_on() {
    in_runtime(2, wait_at_once);
    in_runtime(4, wait_at_once);
    on_nodes(2, 2, wait_at_once);
    on_nodes(4, 1, wait_at_once);
}

#[test]
fn waiting_for_all_ends_beside_threads_that_send() {
    in_runtime(2, || {
        let count = Trustee::all()[1].entrust(0_u64);
        let is_over = Arc::new(AtomicBool::new(false));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (count, is_over) = (count.clone(), Arc::clone(&is_over));
                thread::spawn(move || {
                    let mut sent = 0_u64;
                    while !is_over.load(Ordering::Relaxed) {
                        count.apply(|count| *count += 1);
                        count.apply_then(|count| *count += 1, drop);
                        sent += 2;
                        // There is nothing to do in between.
                        thread::sleep(Duration::from_micros(300));
                    }
                    sent
                })
            })
            .collect();
        for _ in 0..100 {
            rack::wait_all();
        }
        is_over.store(true, Ordering::Relaxed);
        while !threads.iter().all(thread::JoinHandle::is_finished) {
            gossamer::yield_now();
        }
        let sent: u64 = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        // What they have sent has arrived, even if nobody waited for it.
        rack::wait_all();
        assert_eq!(count.apply(|count| *count), sent);
    });
}

/// A fiber of the last worker waits for one that never ends, and so waits for ever.
#[gossamer::delegate]
fn wait_in_vain() {
    let last = Trustee::all().into_iter().last().unwrap();
    let begun = entrust(0);
    let waits = const {
        |begun: Trust<i32>| {
            begun.apply(|begun| *begun += 1);
            rack::wait_all();
        }
    };
    let _detached = spawn_on_with(last, waits, begun.clone());
    let _detached = gossamer::spawn_on(Trustee::here(), || gossamer::sleep(Duration::from_secs(3600)));
    while begun.apply(|begun| *begun) == 0 {
        gossamer::yield_now();
    }
}

#[test]
fn a_runtime_ends_while_somebody_waits_for_all() {
    in_runtime(1, wait_in_vain);
    in_runtime(2, wait_in_vain);
    on_nodes(2, 1, wait_in_vain);
    let panics = || {
        wait_in_vain();
        panic!("as asked for")
    };
    for nodes in [1, 2] {
        watched(move || {
            let run = || rack::run_in_process(nodes, workers(2), panics);
            let payload = panic::catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"as asked for"));
        });
    }
}

#[test]
fn a_fiber_that_is_cancelled_while_it_waits_for_all_leaves_the_others_waiting_rightly() {
    in_runtime(2, || {
        for there in Trustee::all() {
            let blocks = gossamer::spawn_on(Trustee::here(), || gossamer::sleep(Duration::from_secs(3600)));
            let waits = gossamer::spawn_on(there, || {
                rack::wait_all();
            });
            gossamer::sleep(Duration::from_millis(2));
            waits.cancel();
            assert!(waits.try_join().is_err());
            blocks.cancel();
            assert!(blocks.try_join().is_err());
            rack::wait_all();
        }
    });
}
