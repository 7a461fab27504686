//! Main returns: what fibers hold is dropped, what was sent is served, and the runtime ends whatever they do.

use gossamer::{JoinHandle, Latch, NoRef, Reason, Trust, Trustee, entrust, spawn_on_with};
use integration_tests::{Counted, Tally, keep_for_ever, panic_text, wait_until, watched, workers};
use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// What is given to fibers that never end by themselves.
#[derive(Clone, NoRef)]
struct Given {
    _counted: Counted,
    number: Trust<u64>,
    latch: Trust<Latch<u64>>,
}

/// Calls `apply` when it is dropped, which happens while its fiber is cancelled.
struct Applies(Trust<u64>);

impl Drop for Applies {
    fn drop(&mut self) {
        self.0.apply(|number| *number += 1);
        self.0.apply_then(|number| *number += 1, |()| ());
        assert_eq!(self.0.try_apply(|number| *number += 1), Ok(()));
    }
}

/// Ways for a fiber never to end.
const WAYS: [fn(Given); 13] = [
    |_given| gossamer::sleep(Duration::from_secs(3600)),
    |_given| gossamer::sleep(Duration::MAX),
    |_given| loop {
        gossamer::yield_now();
    },
    |given| loop {
        given.number.apply(|number| *number += 1);
    },
    |given| loop {
        given.number.apply_with_then(|_, given| drop(given), given.clone(), |()| ());
    },
    |given| loop {
        given.number.apply_async(|number| *number).wait();
    },
    |given| loop {
        given.number.trustee().spawn_with(|given: Given| drop(given), given.clone()).join();
    },
    |given| loop {
        drop(given.number.trustee().spawn_with(|given: Given| drop(given), given.clone()));
    },
    |given| given.latch.launch_with(|_, _given| gossamer::sleep(Duration::from_secs(3600)), given.clone()),
    |given| loop {
        given.latch.launch_with(|number, _given| *number += 1, given.clone());
    },
    |given| loop {
        given.latch.launch_with_then(|number, _given| *number += 1, given.clone(), |()| ());
    },
    |given| {
        let _applies = Applies(given.number.clone());
        gossamer::sleep(Duration::from_secs(3600));
    },
    |given| {
        let inner =
            spawn_on_with(Trustee::here(), |_given: Given| gossamer::sleep(Duration::MAX), given.clone());
        let _applies = Applies(given.number.clone());
        inner.join();
    },
];

#[test]
fn fibers_that_never_end_are_cancelled_when_main_returns_and_drop_what_they_hold() {
    for way in 0..WAYS.len() {
        for threads in [1, 2] {
            eprintln!("way {way} {threads}");
            let tally = Tally::new();
            watched(move || {
                gossamer::run(workers(threads), move || {
                    for trustee in Trustee::all() {
                        for other in Trustee::all() {
                            let latch = other.entrust(Latch::new(0));
                            let given = Given { _counted: tally.value(), number: other.entrust(0), latch };
                            for _ in 0..3 {
                                drop(spawn_on_with(trustee, body_of, (way, given.clone())));
                            }
                        }
                    }
                    gossamer::sleep(Duration::from_millis(3));
                });
            });
            assert!(tally.is_even(), "way {way}: {tally:?}");
        }
    }
}

fn body_of((way, given): (usize, Given)) {
    WAYS[way](given);
}

#[test]
fn whoever_waits_for_a_cancelled_fiber_is_told_so() {
    watched(|| {
        let (sender, receiver) = mpsc::channel::<JoinHandle<()>>();
        let thread = std::thread::spawn(move || receiver.recv().unwrap().try_join());
        gossamer::run(workers(2), move || {
            sender.send(gossamer::spawn(|| gossamer::sleep(Duration::from_secs(3600)))).unwrap();
            gossamer::sleep(Duration::from_millis(2));
        });
        let error = thread.join().unwrap().unwrap_err();
        assert_eq!(*error.reason(), Reason::Cancelled);
        assert!(error.to_string().contains("main ended"), "{error}");
    });
}

#[test]
fn a_fiber_that_catches_its_cancellation_once_may_end_by_itself() {
    static CAUGHT: AtomicUsize = AtomicUsize::new(0);
    watched(|| {
        gossamer::run(workers(2), || {
            for trustee in Trustee::all() {
                drop(trustee.spawn(|| {
                    let outcome = catch_unwind(|| gossamer::sleep(Duration::from_secs(3600)));
                    assert!(outcome.is_err());
                    CAUGHT.fetch_add(1, Ordering::Relaxed);
                }));
            }
            gossamer::sleep(Duration::from_millis(2));
        });
    });
    assert_eq!(CAUGHT.load(Ordering::Relaxed), 2);
}

#[test]
fn a_panic_of_main_ends_the_runtime_like_a_return() {
    watched(|| {
        let tally = Tally::new();
        let text = panic_text(|| {
            gossamer::run(workers(2), || {
                for trustee in Trustee::all() {
                    let other = Trustee::all()[1].entrust(tally.value());
                    drop(trustee.spawn_with(|_value| gossamer::sleep(Duration::MAX), (tally.value(), other)));
                }
                gossamer::sleep(Duration::from_millis(2));
                panic!("main gives up");
            })
        });
        assert_eq!(text, "main gives up");
        assert_eq!((tally.made(), tally.dropped()), (4, 4));
    });
}

#[test]
fn what_was_sent_before_main_returns_is_served() {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    static ANSWERED: AtomicUsize = AtomicUsize::new(0);
    watched(|| {
        gossamer::run(workers(2), || {
            for trustee in Trustee::all() {
                let property = trustee.entrust(());
                for _ in 0..1000 {
                    property.apply_then(
                        |()| SERVED.fetch_add(1, Ordering::Relaxed),
                        |_| {
                            ANSWERED.fetch_add(1, Ordering::Relaxed);
                        },
                    );
                }
            }
        });
        assert_eq!((SERVED.load(Ordering::Relaxed), ANSWERED.load(Ordering::Relaxed)), (2000, 2000));
    });
}

/// A chain of requests, each sent by the closure of the one before, over all workers.
fn hop(_: &mut u64, (left, ring): (u64, Vec<Trust<u64>>)) {
    static SPIN: AtomicU64 = AtomicU64::new(0);
    for _ in 0..200 {
        SPIN.fetch_add(1, Ordering::Relaxed);
    }
    HOPS.fetch_add(1, Ordering::Relaxed);
    if left > 0 {
        let mut next = ring;
        next.rotate_left(1);
        next[0].clone().apply_with_then(hop, (left - 1, next), |()| ());
    }
}

static HOPS: AtomicU64 = AtomicU64::new(0);

#[test]
fn chains_of_requests_that_are_on_their_way_when_main_returns_come_to_their_end() {
    watched(|| {
        for round in 0..300 {
            HOPS.store(0, Ordering::Relaxed);
            gossamer::run(workers(3), || {
                let ring: Vec<_> = Trustee::all().into_iter().map(|trustee| trustee.entrust(0_u64)).collect();
                ring[0].clone().apply_with_then(hop, (99, ring), |()| ());
            });
            assert_eq!(HOPS.load(Ordering::Relaxed), 100, "round {round}");
        }
    });
}

#[test]
fn what_starts_on_a_quiet_worker_while_main_returns_is_served_before_properties_go() {
    static SERVED: AtomicUsize = AtomicUsize::new(0);
    /// When it is dropped, makes its trustee start a fiber that goes on for a while after its start was answered.
    struct Starts(Trust<Trust<()>>);
    impl Drop for Starts {
        fn drop(&mut self) {
            // Until no other worker has anything to do.
            std::thread::sleep(Duration::from_millis(3));
            self.0.apply_then(
                |other| {
                    let body = |other: Trust<()>| {
                        std::thread::sleep(Duration::from_millis(3));
                        other.apply_then(|()| SERVED.fetch_add(1, Ordering::Relaxed), drop);
                    };
                    drop(Trustee::here().spawn_with(body, other.clone()));
                },
                |()| (),
            );
        }
    }
    watched(|| {
        for round in 1..=20 {
            gossamer::run(workers(3), || {
                let (middle, last) = (Trustee::all()[1], Trustee::all()[2].entrust(()));
                let body = |middle| {
                    let _starts = Starts(middle);
                    gossamer::sleep(Duration::MAX);
                };
                drop(Trustee::here().spawn_with(body, middle.entrust(last)));
                gossamer::yield_now();
            });
            assert_eq!(SERVED.load(Ordering::Relaxed), round);
        }
    });
}

#[test]
fn properties_that_send_to_others_when_they_are_dropped_at_the_end_harm_nobody() {
    static TEXTS: Mutex<Vec<String>> = Mutex::new(Vec::new());
    #[derive(NoRef)]
    struct Sends {
        counted: Counted,
        others: Vec<Trust<Sends>>,
    }
    impl Drop for Sends {
        fn drop(&mut self) {
            for other in &self.others {
                // The property may be gone already: then this is an error, but never a hang.
                let counted = self.counted.clone();
                other.apply_with_then(
                    |_, counted| drop(counted),
                    self.counted.clone(),
                    move |()| drop(counted),
                );
                drop(other.apply_with_async(|_, counted| counted, self.counted.clone()));
            }
            drop(Trustee::here().spawn_with(|counted| drop(counted), self.counted.clone()));
            drop(gossamer::spawn_with(|counted| drop(counted), self.counted.clone()));
            drop(entrust(self.counted.clone()));
            keep_for_ever(entrust(self.counted.clone()));
            if let Some(other) = self.others.first() {
                TEXTS.lock().unwrap().push(panic_text(|| other.apply(|_| ())));
            }
        }
    }
    for threads in [1, 2, 3] {
        let tally = Tally::new();
        watched(move || {
            gossamer::run(workers(threads), move || {
                let make = |index: usize| {
                    let trustee = Trustee::all()[index % threads];
                    trustee.entrust(Sends { counted: tally.value(), others: Vec::new() })
                };
                let all: Vec<_> = (0..6).map(make).collect();
                // A cycle, which only the end of the runtime breaks.
                for property in &all {
                    property.apply_with(|property, others| property.others = others, all.clone());
                }
            });
        });
        assert!(tally.is_even(), "{tally:?}");
        let texts = std::mem::take(&mut *TEXTS.lock().unwrap());
        assert_eq!(texts.len(), 6);
        assert!(texts.iter().all(|text| text.contains("inside a delegated closure")), "{texts:?}");
    }
}

#[test]
fn destructors_of_cancelled_fibers_are_served_by_fibers_trustees_of_the_same_runtime() {
    watched(|| {
        for _ in 0..50 {
            static SUM: AtomicU64 = AtomicU64::new(0);
            struct Reports(u64);
            impl Drop for Reports {
                fn drop(&mut self) {
                    SUM.fetch_add(self.0, Ordering::Relaxed);
                }
            }
            // SAFETY: a number.
            unsafe impl NoRef for Reports {}
            SUM.store(0, Ordering::Relaxed);
            gossamer::run(workers(2), || {
                for trustee in Trustee::all() {
                    for other in Trustee::all() {
                        let number = other.entrust(Reports(0));
                        struct Adds(Trust<Reports>);
                        impl Drop for Adds {
                            fn drop(&mut self) {
                                self.0.apply(|reports| reports.0 += 1);
                            }
                        }
                        let body = |number: Trust<Reports>| {
                            let _adds = Adds(number);
                            gossamer::sleep(Duration::MAX);
                        };
                        (0..10).for_each(|_| drop(spawn_on_with(trustee, body, number.clone())));
                    }
                }
                gossamer::sleep(Duration::from_millis(1));
            });
            assert_eq!(SUM.load(Ordering::Relaxed), 40);
        }
    });
}

#[test]
fn a_thread_that_applies_for_ever_is_told_that_the_runtime_has_ended() {
    watched(|| {
        for _ in 0..50 {
            let (sender, receiver) = mpsc::channel::<Trust<u64>>();
            let thread = std::thread::spawn(move || {
                let number = receiver.recv().unwrap();
                while number.try_apply(|number| *number += 1).is_ok() {}
                number.try_apply(|number| *number).unwrap_err()
            });
            gossamer::run(workers(2), move || {
                sender.send(Trustee::all()[1].entrust(0)).unwrap();
                gossamer::sleep(Duration::from_millis(1));
            });
            assert_eq!(*thread.join().unwrap().reason(), Reason::Ended);
        }
    });
}

#[test]
fn a_fiber_may_start_others_while_main_returns() {
    watched(|| {
        let tally = Tally::new();
        for _ in 0..100 {
            gossamer::run(workers(2), || {
                fn start(counted: Counted) {
                    let next = counted.clone();
                    drop(gossamer::spawn_with(start, next));
                    gossamer::yield_now();
                }
                drop(gossamer::spawn_with(start, tally.value()));
                wait_until(|| tally.made() > 3);
            });
            assert!(tally.is_even(), "{tally:?}");
        }
    });
}

/// Starts its fiber again when it is dropped by a panic, as supervisors do.
struct Restarts;

impl Drop for Restarts {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(gossamer::spawn(never_ends));
        }
    }
}

fn never_ends() {
    let _restarts = Restarts;
    loop {
        gossamer::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn fibers_that_are_started_anew_by_their_destructors_do_not_keep_a_runtime_alive() {
    watched(|| {
        gossamer::run(workers(2), || {
            drop(gossamer::spawn(never_ends));
            gossamer::sleep(std::time::Duration::from_millis(5));
        });
    });
}
