//! Fibers of one's own worker: what they may hold and borrow, and that a scope is not left before its fibers have ended.

use gossamer::{Reason, Trustee, entrust, scope, sleep, spawn_local, yield_now};
use integration_tests::{in_child, in_runtime, near_and_far, panic_text, wait_until, workers};
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe};
use std::process::Command;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

const FOR_EVER: Duration = Duration::from_secs(1 << 30);

#[test]
fn a_local_fiber_holds_and_returns_what_belongs_to_its_thread() {
    in_runtime(2, || {
        let thread = thread::current().id();
        let shared = Rc::new(Cell::new(1));
        let mine = Rc::clone(&shared);
        let fiber = spawn_local(move || {
            assert_eq!(thread::current().id(), thread);
            mine.set(mine.get() + 1);
            Rc::clone(&mine)
        });
        assert!(Rc::ptr_eq(&fiber.join(), &shared));
        assert_eq!((shared.get(), Rc::strong_count(&shared)), (2, 1));
    });
}

#[test]
fn a_local_fiber_is_started_in_delegated_closures_and_callbacks() {
    near_and_far(|trustee| {
        static RUN: AtomicUsize = AtomicUsize::new(0);
        let start = || {
            let begun_on = Trustee::here();
            drop(spawn_local(move || {
                yield_now();
                assert_eq!(Trustee::here(), begun_on);
                RUN.fetch_add(1, Ordering::Relaxed);
            }));
        };
        let before = RUN.load(Ordering::Relaxed);
        let property = trustee.entrust(());
        property.apply(move |()| {
            drop(spawn_local(|| RUN.fetch_add(1, Ordering::Relaxed)));
        });
        property.apply_then(|()| (), move |()| start());
        wait_until(|| RUN.load(Ordering::Relaxed) == before + 2);
    });
}

#[test]
fn local_fibers_and_scopes_are_refused_on_a_thread_without_a_worker() {
    assert!(panic_text(|| spawn_local(|| ())).contains("Trustee::spawn"));
    assert!(panic_text(|| scope(|_| ())).contains("std::thread::scope"));
}

#[test]
fn fibers_of_a_scope_borrow_and_wait_at_the_same_time() {
    near_and_far(|trustee| {
        let numbers: Vec<_> = (0..100_u64).map(|number| trustee.entrust(number)).collect();
        let (mut doubles, sum) = (vec![0; 100], Cell::new(0));
        let text = String::from("borrowed");
        let lengths = scope(|s| {
            for (double, number) in doubles.iter_mut().zip(&numbers) {
                let sum = &sum;
                s.spawn(move || {
                    *double = number.apply(|number| *number * 2);
                    yield_now();
                    sum.set(sum.get() + *double);
                });
            }
            let first = s.spawn(|| text.as_str());
            let second = s.spawn(|| s.spawn(|| text.len()).join());
            (first.join(), second.join())
        });
        assert_eq!(lengths, ("borrowed", 8));
        assert_eq!((doubles[7], sum.get()), (14, 9900));
    });
}

#[test]
fn a_scope_waits_for_fibers_that_its_fibers_start() {
    in_runtime(1, || {
        let ended = Cell::new(0);
        scope(|s| {
            let ended = &ended;
            s.spawn(move || {
                sleep(Duration::from_millis(5));
                s.spawn(move || {
                    sleep(Duration::from_millis(5));
                    ended.set(ended.get() + 1);
                });
                ended.set(ended.get() + 1);
            });
        });
        assert_eq!(ended.get(), 2);
    });
}

#[test]
fn a_scope_whose_body_panics_waits_for_its_fibers_and_then_panics() {
    in_runtime(1, || {
        let mut ended = false;
        let text = panic_text(|| {
            scope(|s| {
                s.spawn(|| {
                    sleep(Duration::from_millis(20));
                    ended = true;
                });
                panic!("the body");
            })
        });
        assert_eq!((text.as_str(), ended), ("the body", true));
    });
}

#[test]
fn a_fiber_of_a_scope_that_panics_and_is_not_joined_makes_the_scope_panic() {
    in_runtime(1, || {
        let text = panic_text(|| scope(|s| drop(s.spawn(|| panic!("nobody joins")))));
        assert!(text.contains("nobody joins"), "{text}");
        let joined = scope(|s| s.spawn(|| -> () { panic!("somebody joins") }).try_join());
        assert!(joined.unwrap_err().to_string().contains("somebody joins"));
    });
}

#[test]
fn the_result_of_a_fiber_that_nobody_joins_is_dropped_before_the_scope_ends() {
    struct Notes<'a>(&'a RefCell<Vec<&'static str>>);
    impl Drop for Notes<'_> {
        fn drop(&mut self) {
            yield_now();
            self.0.borrow_mut().push("dropped");
        }
    }
    in_runtime(1, || {
        let notes = RefCell::new(Vec::new());
        scope(|s| drop(s.spawn(|| Notes(&notes))));
        notes.borrow_mut().push("ended");
        assert_eq!(*notes.borrow(), ["dropped", "ended"]);
    });
}

#[test]
fn a_scope_whose_fiber_is_cancelled_cancels_its_fibers_and_outlives_them() {
    struct Ends<'a>(&'a Cell<u32>);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }
    in_runtime(1, || {
        let ended = Rc::new(Cell::new(0));
        let seen = Rc::clone(&ended);
        let fiber = spawn_local(move || {
            let borrowed = Cell::new(0);
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                scope(|s| {
                    for _ in 0..10 {
                        s.spawn(|| {
                            let _ends = Ends(&borrowed);
                            sleep(FOR_EVER);
                        });
                    }
                    s.spawn(|| scope(|inner| drop(inner.spawn(|| sleep(FOR_EVER)))));
                });
            }));
            seen.set(borrowed.get());
            outcome.is_err()
        });
        yield_now();
        yield_now();
        fiber.cancel();
        assert_eq!((fiber.join(), ended.get()), (true, 10));
    });
}

#[test]
fn nothing_follows_a_scope_whose_fibers_were_cancelled_with_it() {
    static FOLLOWED: AtomicUsize = AtomicUsize::new(0);
    fn half_done() -> u64 {
        let mut data = [0_u64; 4];
        scope(|s| {
            for value in &mut data {
                s.spawn(move || {
                    sleep(FOR_EVER);
                    *value += 1;
                });
            }
        });
        FOLLOWED.fetch_add(1, Ordering::Relaxed);
        data.iter().sum()
    }
    in_runtime(1, || {
        let (fiber, nested) = (spawn_local(half_done), spawn_local(|| scope(|s| s.spawn(half_done).join())));
        drop(spawn_local(half_done)); // until the end of the runtime
        (0..3).for_each(|_| yield_now());
        for fiber in [fiber, nested] {
            fiber.cancel();
            assert!(fiber.try_join().unwrap_err().to_string().contains("cancelled"));
        }
    });
    assert_eq!(FOLLOWED.load(Ordering::Relaxed), 0);
}

#[test]
fn the_end_of_a_runtime_unwinds_the_fibers_of_a_scope_before_the_scope() {
    static ORDER: AtomicUsize = AtomicUsize::new(0);
    struct Ends<'a>(&'a Cell<bool>, usize);
    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            assert!(self.0.get(), "what is borrowed is still there");
            yield_or_not();
            assert_eq!(ORDER.fetch_add(1, Ordering::Relaxed), self.1);
        }
    }
    fn yield_or_not() {
        entrust(()).apply(|()| ());
    }
    in_runtime(1, || {
        drop(spawn_local(|| {
            let alive = Cell::new(true);
            let _last = Ends(&alive, 1);
            scope(|s| {
                s.spawn(|| {
                    let _first = Ends(&alive, 0);
                    sleep(FOR_EVER);
                });
                sleep(FOR_EVER);
            });
        }));
        yield_now();
        yield_now();
    });
    assert_eq!(ORDER.load(Ordering::Relaxed), 2);
}

#[test]
fn random_scopes_count_what_their_fibers_did() {
    in_runtime(2, || {
        let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
        let far = Trustee::all()[1].entrust(0_u64);
        for _ in 0..300 {
            let count = Cell::new(0_u32);
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| grow(&mut seed, 0, &count, &far)));
            let begun = outcome.unwrap_or(0);
            assert!(count.get() >= begun, "{} of {begun}", count.get());
        }
    });
}

/// Opens a scope in which fibers are started, cancelled, joined or forgotten, and open further scopes; returns how many
/// must have ended well.
fn grow(seed: &mut u64, depth: u32, count: &Cell<u32>, far: &gossamer::Trust<u64>) -> u32 {
    let mut next = || {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        *seed >> 33
    };
    let fibers: Vec<_> = (0..next() % 6).map(|_| (next() % 5, next())).collect();
    let panics = next().is_multiple_of(20);
    let mut certain = 0;
    scope(|s| {
        for (kind, seed) in &fibers {
            let body = move || {
                let mut seed = *seed;
                match kind {
                    0 => yield_now(),
                    1 => far.apply(|number| *number += 1),
                    2 if depth < 3 => drop(grow(&mut seed, depth + 1, count, far)),
                    3 => sleep(Duration::from_micros(50)),
                    _ => {}
                }
                count.set(count.get() + 1);
            };
            let fiber = s.spawn(body);
            match seed % 4 {
                0 => fiber.cancel(),
                1 if *kind != 2 => {
                    fiber.join();
                    certain += 1;
                }
                _ => certain += u32::from(*kind != 2),
            }
        }
        assert!(!panics, "the body of a scope panics on purpose");
    });
    certain
}

#[test]
fn a_scope_ends_though_its_fibers_wait_for_threads() {
    in_runtime(1, || {
        let (sender, receiver) = mpsc::channel::<()>();
        let waits = entrust(Some(sender));
        let other = thread::spawn(move || {
            thread::sleep(Duration::from_millis(20));
            waits.apply(|sender| drop(sender.take()));
        });
        let text = String::from("still here");
        scope(|s| {
            drop(s.spawn(|| {
                wait_until(|| {
                    receiver.try_recv() == Err(mpsc::TryRecvError::Disconnected) && text.len() == 10
                })
            }))
        });
        other.join().unwrap();
    });
}

/// The environment of a rack of one node, which is abandoned if `main` panics.
fn a_node_alone(child: &mut Command) {
    let process = std::process::id();
    child.env("GOSSAMER_NODES", format!("unix:calls-{process}")).env("GOSSAMER_NODE", "0");
    child.env("GOSSAMER_TOKEN", format!("{process:064x}"));
}

#[test]
fn what_fibers_of_a_scope_borrow_is_there_for_ever_if_their_runtime_is_abandoned() {
    static BEGUN: AtomicBool = AtomicBool::new(false);
    static SPAWNED: AtomicBool = AtomicBool::new(false);
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Reads<'a>(&'a Cell<u64>);
    impl Drop for Reads<'_> {
        fn drop(&mut self) {
            assert_eq!(self.0.get(), 7);
            DROPPED.fetch_add(1, Ordering::SeqCst);
        }
    }
    let ended = in_child(a_node_alone, || {
        let outcome = panic::catch_unwind(|| {
            gossamer::run(workers(2), || -> () {
                let fiber = Trustee::all()[1].spawn(|| {
                    let alive = Cell::new(7);
                    scope(|s| {
                        s.spawn(|| {
                            let _reads = Reads(&alive);
                            BEGUN.store(true, Ordering::SeqCst);
                            sleep(FOR_EVER);
                        });
                        wait_until(|| BEGUN.load(Ordering::SeqCst));
                        let reads = Reads(&alive);
                        s.spawn(move || drop(reads));
                        SPAWNED.store(true, Ordering::SeqCst);
                        // `main` panics, and its runtime is abandoned before this worker begins the second fiber.
                        thread::sleep(Duration::from_secs(1));
                    });
                });
                drop(fiber);
                wait_until(|| SPAWNED.load(Ordering::SeqCst));
                panic!("main of node 0 panics");
            })
        });
        assert!(outcome.is_err());
        while DROPPED.load(Ordering::SeqCst) == 0 {
            thread::sleep(Duration::from_millis(1));
        }
        thread::sleep(Duration::from_millis(50));
        assert_eq!(DROPPED.load(Ordering::SeqCst), 1);
    });
    assert!(ended.status.success(), "{}\n{}", ended.status, ended.errors);
}

#[test]
fn a_joined_fiber_that_was_cancelled_says_so() {
    integration_tests::watched(|| {
        gossamer::run(workers(1), || {
            let fiber = spawn_local(|| sleep(FOR_EVER));
            fiber.cancel();
            assert_eq!(*fiber.try_join().unwrap_err().reason(), Reason::Cancelled);
        });
    });
}
