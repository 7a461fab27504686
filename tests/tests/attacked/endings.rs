//! Runtimes whose end leaves something behind, or never comes.

use crate::said::until_it_says;
use gossamer::{JoinHandle, JoinMany, Latch, Reason, Trust, Trustee, entrust, spawn_many_with, spawn_on};
use integration_tests::{in_child, panic_text, wait_until, workers};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

/// Makes the child the only node of a rack of its own.
fn a_node_alone(child: &mut Command) {
    static RACKS: AtomicU64 = AtomicU64::new(0);
    let (process, rack) = (std::process::id(), RACKS.fetch_add(1, Ordering::Relaxed));
    child.env("GOSSAMER_NODES", format!("unix:attacked-{process}-{rack}")).env("GOSSAMER_NODE", "0");
    child.env("GOSSAMER_TOKEN", format!("{process:032x}{rack:032x}"));
}

#[test]
fn fibers_that_a_panic_of_main_leaves_behind_keep_what_they_have_borrowed() {
    thread_local! { static ROWS: Vec<u64> = vec![7; 1000]; }
    static BAD: AtomicU64 = AtomicU64::new(0);
    static SUMS: AtomicU64 = AtomicU64::new(0);
    let ended = in_child(a_node_alone, || {
        let outcome = std::panic::catch_unwind(|| {
            gossamer::run(workers(1), || -> () {
                let _left = spawn_on(Trustee::here(), || {
                    ROWS.with(|rows| {
                        std::thread::scope(|scope| {
                            scope.spawn(move || {
                                loop {
                                    let sum: u64 = rows.iter().sum();
                                    if sum != 7000 {
                                        BAD.store(sum, Ordering::SeqCst);
                                    }
                                    SUMS.fetch_add(1, Ordering::SeqCst);
                                    std::thread::sleep(Duration::from_micros(200));
                                }
                            });
                            gossamer::sleep(Duration::from_secs(1000));
                        });
                    });
                });
                while SUMS.load(Ordering::SeqCst) == 0 {
                    gossamer::sleep(Duration::from_millis(1));
                }
                panic!("main of node 0 panics");
            })
        });
        assert!(outcome.is_err());
        let before = SUMS.load(Ordering::SeqCst);
        while SUMS.load(Ordering::SeqCst) < before + 200 {
            std::hint::black_box(vec![1_u64; 1000]);
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(BAD.load(Ordering::SeqCst), 0);
    });
    assert!(ended.status.success(), "{}\n{}", ended.status, ended.errors);
}

#[test]
fn whoever_waits_for_a_runtime_that_a_panic_of_main_ends_is_told() {
    static DROPPED: AtomicBool = AtomicBool::new(false);
    static SERVED: AtomicBool = AtomicBool::new(false);
    static WAITS: AtomicBool = AtomicBool::new(false);
    struct Property(u64);
    impl Drop for Property {
        fn drop(&mut self) {
            DROPPED.store(true, Ordering::SeqCst);
        }
    }
    let ended = in_child(a_node_alone, || {
        let (sender, receiver) = mpsc::channel::<(Trust<Property>, Trustee)>();
        let thread = std::thread::spawn(move || {
            let (property, trustee) = receiver.recv().unwrap();
            let error = loop {
                match property.try_apply(|property| property.0) {
                    Ok(_) => SERVED.store(true, Ordering::SeqCst),
                    Err(error) => break error,
                }
            };
            // No job starts any more, either.
            (error, trustee.spawn(|| ()).try_join().unwrap_err())
        });
        let outcome = std::panic::catch_unwind(|| {
            gossamer::run(workers(2), move || -> () {
                let other = Trustee::all()[1];
                let property = other.entrust_with(Property, 5);
                let kept = entrust(property.clone());
                // It is left behind with what it holds.
                let waits = |kept: Trust<Trust<Property>>| {
                    WAITS.store(true, Ordering::SeqCst);
                    gossamer::sleep(Duration::from_secs(1000));
                    drop(kept);
                };
                let _left = other.spawn_with(waits, kept);
                sender.send((property, other)).unwrap();
                wait_until(|| SERVED.load(Ordering::SeqCst) && WAITS.load(Ordering::SeqCst));
                panic!("main of node 0 panics");
            })
        });
        assert!(outcome.is_err());
        let (error, not_started) = thread.join().unwrap();
        assert_eq!((error.reason(), not_started.reason()), (&Reason::Ended, &Reason::Ended));
        while !DROPPED.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        // The program goes on without its rack.
        assert_eq!(gossamer::run(workers(2), || gossamer::spawn(|| 7).join()), 7);
    });
    assert!(ended.status.success(), "{}\n{}", ended.status, ended.errors);
}

/// Waits for a trustee when dropped.
struct Waits(Trust<()>);

impl Drop for Waits {
    fn drop(&mut self) {
        self.0.apply(|()| std::thread::sleep(Duration::from_millis(300)));
    }
}

#[test]
fn a_fiber_that_unwinds_when_main_panics_stays_where_it_is() {
    let ended = in_child(a_node_alone, || {
        let (sender, receiver) = mpsc::channel::<Trust<u64>>();
        let thread = std::thread::spawn(move || {
            let number = receiver.recv().unwrap();
            while number.try_apply(|number| *number += 1).is_ok() {}
        });
        let outcome = std::panic::catch_unwind(|| {
            gossamer::run(workers(3), move || -> () {
                let (here, other) = (Trustee::all()[1], Trustee::all()[2]);
                sender.send(here.entrust(0)).unwrap();
                let unwinds = |busy: Trust<()>| -> () {
                    let _waits = Waits(busy);
                    panic!("a fiber panics");
                };
                let _left = here.spawn_with(unwinds, other.entrust(()));
                gossamer::sleep(Duration::from_millis(50));
                panic!("main of node 0 panics");
            })
        });
        assert!(outcome.is_err());
        thread.join().unwrap();
    });
    assert!(ended.status.success(), "{}\n{}", ended.status, ended.errors);
}

#[test]
fn a_runtime_that_does_not_end_says_what_keeps_it() {
    let texts = &[
        "`main` has returned, but its runtime has not ended for",
        "worker 0: the fiber spawned at tests/tests/attacked/endings.rs:",
        "waits for a trustee's answer",
        "worker 0: requests that are not answered: 1",
        "worker 1, which does not answer: it is in the delegated closure `",
    ];
    until_it_says(
        |_| (),
        texts,
        || {
            gossamer::run(workers(2), || {
                let stuck = Trustee::all()[1].entrust(());
                let wait = |stuck: Trust<()>| {
                    stuck.apply(|()| -> () {
                        loop {
                            std::thread::park();
                        }
                    })
                };
                let _left = gossamer::spawn_on_with(Trustee::here(), wait, stuck);
                gossamer::sleep(Duration::from_millis(20));
            });
        },
    );
}

#[test]
fn whoever_joins_a_fiber_that_a_panic_of_main_leaves_behind_is_told() {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    fn stays() -> u8 {
        STARTED.fetch_add(1, Ordering::SeqCst);
        gossamer::sleep(Duration::from_secs(1000));
        7
    }
    let ended = in_child(a_node_alone, || {
        let (sender, receiver) = mpsc::channel::<(JoinHandle<u8>, JoinMany<u8>, Trust<Latch<u8>>)>();
        let (waits, waiting) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            let (one, many, latch) = receiver.recv().unwrap();
            let launching = std::thread::spawn(move || {
                panic_text(|| {
                    latch.launch(|_| {
                        stays();
                    });
                })
            });
            waits.send(()).unwrap();
            let one = one.try_join().unwrap_err();
            let many = many.try_join();
            (one, many, launching.join().unwrap())
        });
        let outcome = std::panic::catch_unwind(|| {
            gossamer::run(workers(2), move || -> () {
                let other = Trustee::all()[1];
                let many = spawn_many_with(4, |number, ()| if number == 0 { 1 } else { stays() }, ());
                sender.send((spawn_on(other, stays), many, other.entrust(Latch::new(0)))).unwrap();
                waiting.recv().unwrap();
                while STARTED.load(Ordering::SeqCst) < 5 {
                    gossamer::sleep(Duration::from_millis(1));
                }
                panic!("main of node 0 panics");
            })
        });
        assert!(outcome.is_err());
        let (one, many, launch) = thread.join().unwrap();
        assert_eq!(one.reason(), &Reason::Cancelled);
        assert_eq!(many[0].as_ref().unwrap(), &1);
        assert!(many[1..].iter().all(|stayed| stayed.as_ref().unwrap_err().reason() == &Reason::Cancelled));
        assert!(launch.contains("because main ended"), "{launch}");
    });
    assert!(ended.status.success(), "{}\n{}", ended.status, ended.errors);
}
