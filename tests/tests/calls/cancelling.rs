//! Cancelling a fiber by its handle: where it waits, before it begins, from elsewhere; and that others go on.

use gossamer::{
    JoinHandle, JoinSet, Latch, Reason, Trust, Trustee, entrust, sleep, spawn, spawn_local, spawn_on_with,
    yield_now,
};
use integration_tests::{Counted, Tally, in_runtime, near_and_far, on_nodes, wait_until};
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const FOR_EVER: Duration = Duration::from_secs(1 << 30);

#[track_caller]
fn is_cancelled<U: std::fmt::Debug>(fiber: JoinHandle<U>) {
    assert_eq!(*fiber.try_join().unwrap_err().reason(), Reason::Cancelled);
}

#[test]
fn a_cancelled_fiber_is_unwound_where_it_waits() {
    near_and_far(|trustee| {
        let tally = Tally::new();
        let begun = trustee.entrust(false);
        let wait = |(begun, _held): (Trust<bool>, Counted)| {
            begun.apply(|begun| *begun = true);
            sleep(FOR_EVER);
        };
        let fiber = spawn_on_with(trustee, wait, (begun.clone(), tally.value()));
        wait_until(|| begun.apply(|begun| *begun));
        fiber.cancel();
        is_cancelled(fiber);
        assert!(tally.is_even());
    });
}

#[test]
fn a_fiber_that_is_cancelled_before_it_begins_never_begins() {
    in_runtime(1, || {
        static RUN: AtomicUsize = AtomicUsize::new(0);
        let tally = Tally::new();
        // The turn begins here: none of the next calls lets other fibers run.
        entrust(()).apply(|()| ());
        let held = tally.value();
        let local = spawn_local(move || {
            let _held = held;
            RUN.fetch_add(1, Ordering::Relaxed);
        });
        let fiber = spawn(|| RUN.fetch_add(1, Ordering::Relaxed));
        let third = spawn(|| RUN.fetch_add(1, Ordering::Relaxed));
        local.cancel();
        fiber.cancel();
        is_cancelled(local);
        is_cancelled(fiber);
        third.join();
        assert_eq!(RUN.load(Ordering::Relaxed), 1);
        assert!(tally.is_even());
    });
}

#[test]
fn a_fiber_that_is_cancelled_behind_others_that_take_long_never_begins() {
    in_runtime(1, || {
        static RUN: AtomicUsize = AtomicUsize::new(0);
        // The turn begins here: none of the next calls lets other fibers run.
        entrust(()).apply(|()| ());
        let count = || RUN.fetch_add(1, Ordering::Relaxed);
        // Some of these keep the worker so long that what comes behind them waits for its next turn.
        let keep = || {
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_millis(30) {}
        };
        let long: Vec<_> = (0..5).map(|_| spawn_local(keep)).collect();
        let (first, third) = (spawn_local(count), spawn_local(count));
        first.cancel();
        is_cancelled(first);
        long.into_iter().for_each(JoinHandle::join);
        third.join();
        assert_eq!(RUN.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn cancelling_what_has_ended_leaves_its_result_and_spares_the_fibers_that_come_after() {
    near_and_far(|trustee| {
        for _ in 0..100 {
            let fiber = spawn_on_with(trustee, |()| 7, ());
            wait_until(|| fiber.is_finished());
            fiber.cancel();
            fiber.cancel();
            let next = spawn_on_with(trustee, |()| yield_now(), ());
            assert_eq!(fiber.join(), 7);
            next.join();
        }
    });
}

#[test]
fn fibers_that_are_not_cancelled_go_on_beside_one_that_is() {
    in_runtime(2, || {
        let far = Trustee::all()[1].entrust(0_u64);
        let stubborn = spawn_local({
            let far = far.clone();
            move || {
                for _ in 0..200 {
                    // It is cancelled again and again; the others do not notice what it does until it ends.
                    let _caught = panic::catch_unwind(AssertUnwindSafe(|| far.apply(|number| *number += 1)));
                }
            }
        });
        yield_now(); // it begins
        stubborn.cancel();
        let others: Vec<_> = (0..20)
            .map(|_| {
                let far = far.clone();
                spawn_local(move || {
                    for _ in 0..100 {
                        far.apply(|number| *number += 1);
                        entrust(1).apply(|_| ());
                        yield_now();
                    }
                })
            })
            .collect();
        others.into_iter().for_each(|fiber| fiber.join());
        stubborn.join(); // it has caught whatever came
        assert!(far.apply(|number| *number) >= 2000);
    });
}

#[test]
fn a_cancelled_fiber_gives_up_its_latch_its_join_and_its_socket() {
    in_runtime(2, || {
        let latch = entrust(Latch::new(0));
        let listener = gossamer::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let holds = Rc::new(Cell::new(false));
        let waits: Vec<JoinHandle<()>> = vec![
            spawn_local({
                let latch = latch.clone();
                move || loop {
                    latch.launch(|value| *value += 1);
                    yield_now();
                }
            }),
            spawn_local(|| spawn_local(|| sleep(FOR_EVER)).join()),
            spawn_local(move || drop(listener.accept())),
            spawn_local({
                let holds = Rc::clone(&holds);
                move || {
                    holds.set(true);
                    Trustee::all()[1].spawn(|| sleep(FOR_EVER)).join();
                }
            }),
        ];
        wait_until(|| holds.get());
        waits.iter().for_each(JoinHandle::cancel);
        waits.into_iter().for_each(is_cancelled);
        latch.launch(|value| *value = 7);
        assert_eq!(latch.launch(|value| *value), 7);
    });
}

#[test]
fn a_fiber_is_cancelled_by_threads_and_by_other_workers() {
    in_runtime(2, || {
        for trustee in Trustee::all() {
            let fiber = spawn_on_with(trustee, |()| sleep(FOR_EVER), ());
            let canceller = thread::spawn(move || {
                fiber.cancel();
                is_cancelled(fiber);
            });
            wait_until(|| canceller.is_finished());
            canceller.join().unwrap();
            let outside = thread::spawn(move || trustee.spawn(|| sleep(FOR_EVER)));
            wait_until(|| outside.is_finished());
            let outside = outside.join().unwrap();
            outside.cancel();
            is_cancelled(outside);
        }
        // From a worker that is neither the spawner's nor the fiber's, at once: the cancellation must not overtake the
        // fiber.
        for _ in 0..200 {
            let (hand, take) = std::sync::mpsc::channel::<JoinHandle<()>>();
            let trustee = Trustee::all()[1];
            let there = trustee.entrust_with(|()| (), ());
            hand.send(trustee.spawn(|| sleep(FOR_EVER))).unwrap();
            let canceller = thread::spawn(move || {
                let fiber = take.recv().unwrap();
                fiber.cancel();
                is_cancelled(fiber);
            });
            wait_until(|| canceller.is_finished());
            drop(there);
            canceller.join().unwrap();
        }
    });
}

#[test]
fn many_fibers_are_cancelled_at_once() {
    in_runtime(2, || {
        let fibers: Vec<_> = (0..5000).map(|_| spawn(|| sleep(FOR_EVER))).collect();
        let local: Vec<_> = (0..5000).map(|_| spawn_local(|| sleep(FOR_EVER))).collect();
        yield_now();
        fibers.iter().for_each(JoinHandle::cancel);
        local.iter().for_each(JoinHandle::cancel);
        fibers.into_iter().chain(local).for_each(is_cancelled);
        // Nothing is left of it: blocking calls work as before.
        assert_eq!(spawn(|| entrust(1).apply(|number| *number)).join(), 1);
    });
}

#[test]
fn a_fiber_of_another_node_is_cancelled() {
    on_nodes(2, 2, || {
        for trustee in Trustee::all() {
            let sleeper = spawn_on_with(trustee, const { |()| sleep(FOR_EVER) }, ());
            sleeper.cancel();
            is_cancelled(sleeper);
            let begun = entrust(false);
            let wait = const {
                |begun: Trust<bool>| {
                    begun.apply(const { |begun: &mut bool| *begun = true });
                    sleep(FOR_EVER);
                }
            };
            let sleeper = spawn_on_with(trustee, wait, begun.clone());
            wait_until(|| begun.apply(|begun| *begun));
            sleeper.cancel();
            is_cancelled(sleeper);
            let outside = thread::spawn(move || trustee.spawn_with(const { |()| sleep(FOR_EVER) }, ()));
            wait_until(|| outside.is_finished());
            let outside = outside.join().unwrap();
            outside.cancel();
            is_cancelled(outside);
        }
    });
}

#[test]
fn many_fibers_are_cancelled_at_once_on_all_nodes() {
    let body = || {
        let tally = Tally::new();
        let begun = entrust(0_usize);
        let wait = const {
            |number: usize, begun: Trust<usize>| {
                if number.is_multiple_of(2) {
                    begun.apply(const { |begun: &mut usize| *begun += 1 });
                    sleep(FOR_EVER);
                }
                number
            }
        };
        let many = gossamer::spawn_many_with(100, wait, begun.clone());
        let counted = gossamer::spawn_many_with(10, |_, _held| sleep(FOR_EVER), tally.value());
        wait_until(|| begun.apply(|begun| *begun) == 50);
        many.cancel();
        for (number, outcome) in many.try_join().into_iter().enumerate() {
            match outcome {
                Ok(result) => assert!(number % 2 == 1 && result == number),
                Err(error) => assert!(number % 2 == 0 && *error.reason() == Reason::Cancelled, "{error}"),
            }
        }
        counted.cancel();
        assert!(counted.try_join().iter().all(Result::is_err));
        wait_until(|| tally.is_even());
    };
    in_runtime(1, body);
    in_runtime(4, body);
    let no_tally = || {
        let many = gossamer::spawn_many_with(64, const { |_: usize, ()| sleep(FOR_EVER) }, ());
        // Some have not begun yet.
        many.cancel();
        let is_cancelled = |outcome: Result<(), gossamer::DelegationError>| {
            outcome.is_err_and(|error| *error.reason() == Reason::Cancelled)
        };
        assert!(many.try_join().into_iter().all(is_cancelled));
    };
    on_nodes(3, 2, no_tally);
}

#[test]
fn many_fibers_are_awaited_for_a_time_and_then_cancelled() {
    on_nodes(2, 2, || {
        let wait = const {
            |number: usize, which: usize| {
                if number == which {
                    sleep(FOR_EVER)
                }
            }
        };
        for slow in [0, 9, 10] {
            let mut many = gossamer::spawn_many_with(10, wait, slow);
            match gossamer::timeout(Duration::from_millis(50), &mut many) {
                // On a busy machine it may not get that far in time.
                Err(_elapsed) => {
                    many.cancel();
                    let ended = many.try_join();
                    assert!(slow == 10 || ended[slow].is_err());
                }
                Ok(ended) => assert!(slow == 10 && ended.len() == 10),
            }
        }
        let results =
            gossamer::block_on(gossamer::spawn_many_with(10, const { |number: usize, ()| number }, ()));
        assert!(results.into_iter().eq(0..10));
    });
}

#[test]
fn a_set_of_joins_is_cancelled_and_tells_what_each_has_come_to() {
    in_runtime(2, || {
        let tally = Tally::new();
        let mut set: JoinSet<_> = (0..10)
            .map(|number| {
                let wait = |(number, _held): (u64, Counted)| {
                    sleep(if number < 3 { Duration::ZERO } else { FOR_EVER });
                    number
                };
                gossamer::spawn_with(wait, (number, tally.value()))
            })
            .collect();
        let first = set.join_next().unwrap();
        assert!(first < 3);
        let others = set.cancel_all();
        assert_eq!(others.len(), 9);
        let cancelled = |outcome: &&Result<u64, gossamer::DelegationError>| {
            outcome.as_ref().is_err_and(|error| *error.reason() == Reason::Cancelled)
        };
        assert!(others.iter().filter(cancelled).count() >= 7);
        assert!(others.iter().flatten().all(|number| *number < 3));
        assert!(tally.is_even());
    });
}
