//! How long a fiber, or several, may keep their worker from others.

use gossamer::{Trust, Trustee, entrust, spawn_local, spawn_on_with, yield_now};
use integration_tests::{in_runtime, wait_until};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn spin_for(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn a_fiber_that_computes_between_its_calls_lets_others_run_after_few_of_them() {
    in_runtime(1, || {
        let (rounds, number) = (Rc::new(Cell::new(0_u64)), entrust(0_u64));
        let counted = Rc::clone(&rounds);
        let other = spawn_local(move || {
            while counted.get() < u64::MAX {
                counted.set(counted.get() + 1);
                yield_now();
            }
        });
        // Fast ones before do not make it wait longer than once.
        (0..1000).for_each(|_| number.apply(|number| *number += 1));
        let (mut seen, mut calls, mut most) = (0, 0, [0; 2]);
        for step in 0..400 {
            number.apply(|number| *number += 1);
            spin_for(Duration::from_micros(200));
            calls = if rounds.get() == seen { calls + 1 } else { 1 };
            seen = rounds.get();
            let phase = usize::from(step >= 200);
            most[phase] = most[phase].max(calls);
        }
        assert!(most[0] <= 170 && most[1] <= 2, "{most:?} calls in a row");
        rounds.set(u64::MAX);
        other.join();
    });
}

#[test]
fn a_fiber_that_keeps_its_worker_for_long_lets_others_run_at_its_next_call() {
    in_runtime(1, || {
        let (runs, number) = (Rc::new(Cell::new(0_u64)), entrust(0_u64));
        (0..1000).for_each(|_| number.apply(|number| *number += 1));
        let counted = Rc::clone(&runs);
        let other = spawn_local(move || {
            while counted.get() < u64::MAX {
                counted.set(counted.get() + 1);
                yield_now();
            }
        });
        yield_now();
        let (mut in_a_row, mut most) = (0, 0);
        for _ in 0..10 {
            spin_for(Duration::from_millis(40));
            let before = runs.get();
            number.apply(|number| *number += 1);
            in_a_row = if runs.get() == before { in_a_row + 1 } else { 0 };
            most = most.max(in_a_row);
        }
        assert!(most <= 5, "{most} calls in a row let nobody run");
        runs.set(u64::MAX);
        other.join();
    });
}

#[test]
fn requests_are_served_before_all_fibers_have_run_that_together_take_long() {
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    in_runtime(2, || {
        let there = Trustee::all()[1];
        let number = there.entrust(7);
        let compute = || {
            BEGUN.fetch_add(1, Ordering::Relaxed);
            if !STOP.load(Ordering::Relaxed) {
                spin_for(Duration::from_millis(5));
            }
        };
        let fibers: Vec<_> = (0..1000).map(|_| there.spawn(compute)).collect();
        wait_until(|| BEGUN.load(Ordering::Relaxed) > 0);
        assert_eq!(number.apply(|number| *number), 7);
        assert!(BEGUN.load(Ordering::Relaxed) < 900, "all had begun");
        STOP.store(true, Ordering::Relaxed);
        fibers.into_iter().for_each(|fiber| fiber.join());
    });
}

#[test]
fn requests_are_served_before_all_fibers_have_run_that_compute_before_a_call() {
    static BEGUN: AtomicU64 = AtomicU64::new(0);
    static STOP: AtomicBool = AtomicBool::new(false);
    in_runtime(2, || {
        let number = Trustee::all()[1].entrust(7_u64);
        let compute = |number: &Trust<u64>| {
            BEGUN.fetch_add(1, Ordering::Relaxed);
            if !STOP.load(Ordering::Relaxed) {
                spin_for(Duration::from_millis(5));
            }
            number.apply(|number| *number);
        };
        let all = move |number: Trust<u64>| {
            gossamer::scope(|scope| (0..500).for_each(|_| drop(scope.spawn(|| compute(&number)))));
        };
        let all = spawn_on_with(Trustee::all()[1], all, number.clone());
        wait_until(|| BEGUN.load(Ordering::Relaxed) > 0);
        assert_eq!(number.apply(|number| *number), 7);
        let begun = BEGUN.load(Ordering::Relaxed);
        STOP.store(true, Ordering::Relaxed);
        assert!(begun < 100, "{begun} had begun");
        all.join();
    });
}

#[test]
fn beside_a_fiber_that_takes_long_in_each_turn_others_begin_and_go_on_many_at_a_time() {
    in_runtime(1, || {
        let (stop, turns) = (Rc::new(Cell::new(false)), Rc::new(Cell::new(0)));
        let (stopped, counted) = (Rc::clone(&stop), Rc::clone(&turns));
        let long = spawn_local(move || {
            while !stopped.get() {
                spin_for(Duration::from_millis(25));
                counted.set(counted.get() + 1);
                yield_now();
            }
        });
        // The watcher has found that the worker is awake.
        (0..5).for_each(|_| yield_now());
        let before = turns.get();
        let others: Vec<_> = (0..200).map(|_| spawn_local(|| (0..3).for_each(|_| yield_now()))).collect();
        others.into_iter().for_each(|other| other.join());
        let took = turns.get() - before;
        stop.set(true);
        long.join();
        assert!(took < 100, "200 fibers that do nothing took {took} turns");
    });
}

#[test]
fn a_fiber_that_was_suspended_between_its_calls_does_not_let_others_run_for_them() {
    in_runtime(1, || {
        let number = entrust(0_u64);
        let runs = Rc::new(Cell::new(0_u64));
        let mut let_run = 0;
        for _ in 0..400 {
            gossamer::sleep(Duration::from_micros(150));
            let (before, counted) = (runs.get(), Rc::clone(&runs));
            let other = spawn_local(move || counted.set(counted.get() + 1));
            number.apply(|number| *number += 1);
            let_run += u64::from(runs.get() != before);
            other.join();
        }
        // Where other programs take the processor between the two, the call comes late.
        assert!(let_run <= 20, "{let_run} calls let the other fiber run");
    });
}

#[test]
fn a_fiber_that_was_spawned_or_woken_before_runs_before_one_that_lets_others_run() {
    fn spawn_and_yield() {
        for _ in 0..1000 {
            let (steps, wakes) = (Rc::new(Cell::new(0)), gossamer::sync::Notify::new());
            let (step, wake) = (Rc::clone(&steps), wakes.clone());
            let other = spawn_local(move || {
                step.set(1);
                wake.notified();
                step.set(2);
            });
            yield_now();
            assert_eq!(steps.get(), 1, "it was spawned");
            wakes.notify_one();
            yield_now();
            assert_eq!(steps.get(), 2, "it was woken");
            other.join();
        }
    }
    in_runtime(1, || {
        spawn_and_yield();
        // In the turn in which it starts, too.
        spawn_local(spawn_and_yield).join();
    });
}
