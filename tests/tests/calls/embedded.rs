//! Runtimes that are held by a handle.

use gossamer::{Config, Reason, Runtime, sleep, spawn, spawn_local};
use integration_tests::{Tally, panic_text, wait_until, watched, workers};
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const FOR_EVER: Duration = Duration::from_secs(1 << 30);

#[test]
fn a_runtime_runs_closures_until_it_is_shut_down() {
    watched(|| {
        let tally = Tally::new();
        let runtime = Runtime::start(workers(2)).unwrap();
        let counter = runtime.run(|| gossamer::entrust(0_u64));
        let held = runtime.trustees()[1].entrust(tally.value());
        for number in 0..100 {
            let counter = counter.clone();
            assert_eq!(
                runtime.run(move || {
                    counter.apply(|count| *count += 1);
                    number
                }),
                number
            );
        }
        let fiber = runtime.spawn({
            let (counter, shared) = (counter.clone(), Arc::new(5));
            move || counter.apply(|count| *count) + *shared
        });
        assert_eq!(fiber.join(), 105);
        let forever = runtime.spawn(|| sleep(FOR_EVER));
        runtime.shutdown();
        assert_eq!(*forever.try_join().unwrap_err().reason(), Reason::Cancelled);
        assert_eq!(*counter.try_apply(|count| *count).unwrap_err().reason(), Reason::Ended);
        assert!(tally.is_even());
        drop(held);
    });
}

#[test]
fn a_runtime_goes_on_after_a_panic_and_has_large_stacks_for_what_it_runs() {
    watched(|| {
        let runtime = Runtime::start(workers(1)).unwrap();
        // Other fibers wait to begin: they must not get the stack that is made for this one.
        let others: Vec<_> = (0..10).map(|_| runtime.spawn(|| ())).collect();
        let deep = runtime.run(|| {
            let large = std::hint::black_box([1_u8; 1 << 20]);
            large.iter().map(|byte| u32::from(*byte)).sum::<u32>()
        });
        assert_eq!(deep, 1 << 20);
        others.into_iter().for_each(|other| other.join());
        assert_eq!(panic_text(|| runtime.run(|| panic!("on purpose"))), "on purpose");
        assert_eq!(runtime.run(|| spawn_local(|| *Rc::new(3)).join()), 3);
    });
}

#[test]
fn several_threads_use_a_runtime_at_the_same_time() {
    watched(|| {
        let runtime = Arc::new(Runtime::start(workers(2)).unwrap());
        let sum = runtime.run(|| gossamer::entrust(0_u64));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (runtime, sum) = (Arc::clone(&runtime), sum.clone());
                thread::spawn(move || {
                    for _ in 0..50 {
                        let sum = sum.clone();
                        runtime.run(move || sum.apply(|sum| *sum += 1));
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(sum.apply(|sum| *sum), 200);
    });
}

#[test]
fn a_runtime_that_is_dropped_in_a_fiber_of_its_own_ends() {
    watched(|| {
        let tally = Tally::new();
        let runtime = Runtime::start(workers(1)).unwrap();
        let held = runtime.trustees()[0].entrust(tally.value());
        let other = runtime.trustees()[0];
        let (sender, receiver) = std::sync::mpsc::channel::<Runtime>();
        drop(other.spawn_with(|()| (), ()));
        let fiber = runtime.spawn(move || {
            let runtime = receiver.recv().unwrap();
            assert!(panic_text(|| runtime.run(|| ())).contains("spawn a fiber"));
            drop(runtime);
            sleep(FOR_EVER);
        });
        sender.send(runtime).unwrap();
        assert_eq!(*fiber.try_join().unwrap_err().reason(), Reason::Cancelled);
        wait_until(|| tally.is_even());
        drop(held);
    });
}

#[test]
fn a_runtime_that_is_dropped_while_the_thread_panics_ends() {
    watched(|| {
        let tally = Tally::new();
        let value = tally.value();
        let text = panic_text(move || {
            let runtime = Runtime::start(workers(1)).unwrap();
            drop(runtime.spawn(move || {
                let _held = value;
                sleep(FOR_EVER)
            }));
            panic!("of the thread");
        });
        assert_eq!(text, "of the thread");
        assert!(tally.is_even());
    });
}

#[test]
fn a_runtime_does_not_start_with_settings_that_are_wrong() {
    let error = Runtime::start(Config::default().threads(0));
    assert!(error.is_err() || error.is_ok_and(|runtime| !runtime.trustees().is_empty()));
    gossamer::run(workers(1), || {
        // On a worker of another runtime: it cannot wait there for that runtime, but can spawn on it.
        let other = Runtime::start(workers(1)).unwrap();
        assert_eq!(spawn(|| 1).join() + other.spawn(|| 2).join(), 3);
        assert!(panic_text(|| other.shutdown()).contains("drop it"));
    });
}
