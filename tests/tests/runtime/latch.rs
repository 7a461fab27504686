//! Latches: closures in fibers of their own, one at a time, that may block.

use gossamer::{Latch, Reason, Trust, Trustee, entrust, spawn_on_with};
use integration_tests::{Counted, Tally, in_runtime, near_and_far, panic_text, wait_until};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

#[test]
fn one_closure_at_a_time_holds_the_latch_though_it_blocks() {
    near_and_far(|trustee| {
        static INSIDE: AtomicBool = AtomicBool::new(false);
        let latch = trustee.entrust(Latch::new(0_u64));
        let other = entrust(0_u64);
        let fibers: Vec<_> = (0..50)
            .map(|_| {
                let body = |(latch, other): (Trust<Latch<u64>>, Trust<u64>)| {
                    latch.launch_with(
                        |value, other: Trust<u64>| {
                            assert!(!INSIDE.swap(true, Ordering::Relaxed));
                            let before = *value;
                            other.apply(|number| *number += 1);
                            gossamer::yield_now();
                            other.apply_then(|number| *number += 1, |()| ());
                            *value = before + 1;
                            assert!(INSIDE.swap(false, Ordering::Relaxed));
                        },
                        other,
                    );
                };
                gossamer::spawn_with(body, (latch.clone(), other.clone()))
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
        assert_eq!(latch.launch(|value| *value), 50);
        wait_until(|| other.apply(|number| *number) == 100);
    });
}

#[test]
fn launches_are_served_first_come_first_served() {
    near_and_far(|trustee| {
        let latch = trustee.entrust(Latch::new(Vec::new()));
        let order = |count: u64| {
            for number in 0..count {
                latch.launch_with_then(
                    |list: &mut Vec<u64>, number| {
                        // So that the next ones form a queue.
                        gossamer::yield_now();
                        list.push(number);
                    },
                    number,
                    |()| (),
                );
            }
        };
        order(500);
        wait_until(|| latch.launch(|list| list.len()) == 500);
        let list = latch.launch(mem::take);
        assert!(list.iter().copied().eq(0..500), "{list:?}");
    });
}

#[test]
fn a_launched_closure_may_delegate_to_its_own_trustee_and_to_its_callers() {
    near_and_far(|trustee| {
        let latch = trustee.entrust(Latch::new(1_u64));
        for other in Trustee::all() {
            let (number, second) = (other.entrust(10_u64), other.entrust(Latch::new(100_u64)));
            let sum = latch.launch_with(
                |value, (number, second): (Trust<u64>, Trust<Latch<u64>>)| {
                    let far = number.apply_with(|number, by| *number + by, *value);
                    second.launch_with(|value, far| *value + far, far)
                },
                (number, second),
            );
            assert_eq!(sum, 111);
        }
    });
}

#[test]
fn a_panic_of_a_launched_closure_reaches_its_caller_and_releases_the_latch() {
    near_and_far(|trustee| {
        let latch = trustee.entrust(Latch::new(0_u64));
        for round in 1..=10 {
            let text = panic_text(|| {
                latch.launch_with(
                    |value, round| -> u64 {
                        *value += 1;
                        gossamer::yield_now();
                        panic!("launch {round} (expected in the output of this test)")
                    },
                    round,
                )
            });
            assert!(text.contains(&format!("launch {round}")) && text.contains(file!()), "{text}");
            assert_eq!(latch.launch(|value| *value), round);
        }
        let tally = Tally::new();
        let value = tally.value();
        latch.launch_then(|_| -> u64 { panic!("expected in the output of this test") }, move |_| drop(value));
        wait_until(|| tally.is_even());
    });
}

#[test]
fn launch_then_calls_back_in_a_fiber_that_may_block() {
    near_and_far(|trustee| {
        let latch = trustee.entrust(Latch::new(5_u64));
        let sums: Vec<_> = Trustee::all().into_iter().map(|trustee| trustee.entrust(0_u64)).collect();
        let home = std::thread::current().id();
        for _ in 0..100 {
            let sums = sums.clone();
            latch.launch_then(
                |value| *value,
                move |value| {
                    assert_eq!(std::thread::current().id(), home);
                    sums.iter().for_each(|sum| sum.apply_with(|sum, by| *sum += by, value));
                },
            );
        }
        wait_until(|| sums.iter().all(|sum| sum.apply(|sum| *sum) == 500));
    });
}

#[test]
fn launch_then_may_be_called_by_closures_and_callbacks() {
    near_and_far(|trustee| {
        let latch = trustee.entrust(Latch::new(0_u64));
        let (property, from_closure, from_callback) = (entrust(()), latch.clone(), latch.clone());
        property.apply_with(|(), latch| latch.launch_then(|value| *value += 1, |()| ()), from_closure);
        property.apply_then(|()| (), move |()| from_callback.launch_then(|value| *value += 1, |()| ()));
        wait_until(|| latch.launch(|value| *value) == 2);
    });
}

#[test]
fn a_latch_may_be_replaced_while_it_is_held() {
    near_and_far(|trustee| {
        let tally = Tally::new();
        let latch = trustee.entrust(Latch::new(vec![tally.value()]));
        let (sender, lengths) = mpsc::channel();
        for _ in 0..3 {
            let sender = sender.clone();
            latch.launch_then(
                |list: &mut Vec<Counted>| {
                    gossamer::sleep(Duration::from_millis(5));
                    list.push(list[0].clone());
                    list.len()
                },
                move |length| sender.send(length).unwrap(),
            );
        }
        gossamer::sleep(Duration::from_millis(1));
        // The fiber that holds it, and those that wait, go on with the old value; it may even be entrusted elsewhere.
        let fresh = Latch::new(vec![tally.value(), tally.value()]);
        let old = latch.apply_with(|latch, fresh| mem::replace(latch, fresh), fresh);
        assert_eq!(latch.launch(|list| list.len()), 2);
        let moved = Trustee::all()[1].entrust(old);
        for expected in [2, 3, 4] {
            let mut length = None;
            wait_until(|| {
                length = lengths.try_recv().ok();
                length.is_some()
            });
            assert_eq!(length, Some(expected));
        }
        assert_eq!(moved.launch(|list| list.len()), 4);
        drop((latch, moved));
        wait_until(|| tally.is_even());
    });
}

#[test]
fn a_latch_whose_last_trust_goes_while_it_is_held_is_dropped_after() {
    near_and_far(|trustee| {
        let tally = Tally::new();
        let latch = trustee.entrust(Latch::new(tally.value()));
        for _ in 0..10 {
            latch.launch_with_then(
                |value, other| {
                    gossamer::sleep(Duration::from_millis(1));
                    (value.clone(), other)
                },
                tally.value(),
                drop,
            );
        }
        drop(latch);
        wait_until(|| tally.is_even());
        assert_eq!(tally.made(), 21);
    });
}

#[test]
fn those_who_hold_and_those_who_wait_are_cancelled_when_main_returns() {
    for trustee in 0..2 {
        let tally = Tally::new();
        in_runtime(2, move || {
            let latch = Trustee::all()[trustee].entrust(Latch::new(tally.value()));
            for _ in 0..10 {
                let body = |(latch, value): (Trust<Latch<Counted>>, Counted)| {
                    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        latch.launch_with(|_, _value| gossamer::sleep(Duration::MAX), value);
                    }));
                    assert!(outcome.is_err());
                };
                drop(gossamer::spawn_with(body, (latch.clone(), tally.value())));
            }
            gossamer::sleep(Duration::from_millis(3));
        });
        assert!(tally.is_even(), "{tally:?}");
    }
}

#[test]
fn a_latch_that_is_applied_to_is_not_held() {
    near_and_far(|trustee| {
        let latch = trustee.entrust(Latch::new(7_u64));
        let text = latch.apply(|latch| format!("{latch:?}"));
        assert!(text.contains("held: false"), "{text}");
        let error = latch.try_apply(|_| -> u64 { panic!("not in a fiber") }).unwrap_err();
        assert!(matches!(error.reason(), Reason::Panicked { .. }));
        assert_eq!(latch.launch(|value| *value), 7);
    });
}

#[test]
fn a_thread_that_is_no_worker_may_launch() {
    in_runtime(2, || {
        let latches: Vec<_> =
            Trustee::all().into_iter().map(|trustee| trustee.entrust(Latch::new(0_u64))).collect();
        let thread = std::thread::spawn(move || {
            for latch in &latches {
                (0..100).for_each(|_| latch.launch(|value| *value += 1));
                latch.launch_then(|value| *value += 1, |()| ());
                assert_eq!(latch.launch(|value| *value), 101);
            }
        });
        wait_until(|| thread.is_finished());
        thread.join().unwrap();
    });
}

#[test]
fn latches_are_handed_over_many_times_without_a_lost_wake_up() {
    in_runtime(3, || {
        let latches: Vec<_> =
            Trustee::all().into_iter().map(|trustee| trustee.entrust(Latch::new(0_u64))).collect();
        let fibers: Vec<_> = (0..60_u64)
            .map(|seed| {
                let body = |(latches, seed): (Vec<Trust<Latch<u64>>>, u64)| {
                    let mut random = fastrand::Rng::with_seed(seed);
                    for _ in 0..100 {
                        latches[random.usize(..3)].launch_with(
                            |value, turns| {
                                (0..turns).for_each(|_| gossamer::yield_now());
                                *value += 1;
                            },
                            random.u32(..4),
                        );
                    }
                };
                spawn_on_with(Trustee::all()[seed as usize % 3], body, (latches.clone(), seed))
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
        assert_eq!(latches.iter().map(|latch| latch.launch(|value| *value)).sum::<u64>(), 6000);
    });
}
