//! Destructors: of arguments, results and properties, some of which panic, and of fibers that unwind.

use gossamer::{DelegationError, Latch, NoRef, Reason, Trust, Trustee, entrust, spawn_on_with};
use integration_tests::{Tally, in_child, in_runtime, keep_for_ever, near_and_far, wait_until};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A value that counts its drop, and then panics.
struct Bomb(&'static AtomicUsize);

// SAFETY: it holds a reference to a static of this process, and the test has one process.
unsafe impl NoRef for Bomb {}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
        panic!("a destructor panics (expected in the output of this test)");
    }
}

fn counter() -> &'static AtomicUsize {
    static COUNTERS: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    &COUNTERS[NEXT.fetch_add(1, Ordering::Relaxed)]
}

#[test]
fn a_panic_in_the_drop_of_an_argument_is_the_closures() {
    near_and_far(|trustee| {
        let (number, drops) = (trustee.entrust(0_u32), counter());
        for _ in 0..10 {
            let error = number.try_apply_with(|number, _bomb| *number += 1, Bomb(drops)).unwrap_err();
            assert!(error.to_string().contains("a destructor panics"), "{error}");
        }
        assert_eq!(number.apply(|number| *number), 10);
        assert_eq!(drops.load(Ordering::Relaxed), 10);
    });
}

#[test]
fn a_panic_in_the_drop_of_a_result_is_the_receivers() {
    near_and_far(|trustee| {
        let (number, drops) = (trustee.entrust(0_u32), counter());
        let make = |number: &mut u32, drops| {
            *number += 1;
            Bomb(drops)
        };
        let fiber = spawn_on_with(
            Trustee::here(),
            |(number, Address(drops)): (Trust<u32>, Address)| {
                drop(number.apply_with(|_, Address(drops)| Bomb(drops), Address(drops)));
            },
            (number.clone(), Address(drops)),
        );
        assert!(fiber.try_join().is_err());
        // Where nobody takes the result, some worker's loop drops it.
        number.apply_with_then(move |number, Address(drops)| make(number, drops), Address(drops), drop);
        drop(number.apply_with_async(move |number, Address(drops)| make(number, drops), Address(drops)));
        // If the fiber has ended already, its result is in the handle, so this fiber drops it.
        let fiber = trustee.spawn_with(|Address(drops)| Bomb(drops), Address(drops));
        let _either = panic::catch_unwind(AssertUnwindSafe(|| drop(fiber)));
        wait_until(|| drops.load(Ordering::Relaxed) == 4);
        assert_eq!(number.apply(|number| *number), 2);
        assert_eq!(trustee.spawn(|| 7).join(), 7);
    });
}

/// A reference to a static, sent as an argument.
#[derive(Clone, Copy)]
struct Address(&'static AtomicUsize);

// SAFETY: as for `Bomb`.
unsafe impl NoRef for Address {}

#[test]
fn a_panic_in_the_drop_of_a_property_spares_its_trustee() {
    near_and_far(|trustee| {
        let (drops, tally) = (counter(), Tally::new());
        for _ in 0..10 {
            drop(trustee.entrust((tally.value(), Bomb(drops), tally.value())));
        }
        wait_until(|| drops.load(Ordering::Relaxed) == 10 && tally.is_even());
        assert_eq!(tally.dropped(), 20);
        assert_eq!(trustee.entrust(7).apply(|number| *number), 7);
    });
    in_runtime(2, || {
        for trustee in Trustee::all() {
            // Its trust is leaked, so that it is dropped at the end of the runtime.
            keep_for_ever(trustee.entrust(Bomb(counter())));
        }
    });
}

/// Calls a property when it is dropped, in every way that a destructor may.
struct Applies {
    number: Trust<u64>,
}

impl Drop for Applies {
    fn drop(&mut self) {
        assert!(self.number.apply(|number| {
            *number += 1;
            *number > 0
        }));
        self.number.apply_then(|number| *number += 1, |()| ());
        assert_eq!(self.number.apply_with_async(|number, by| *number += by, 1).try_wait(), Ok(()));
        let error: Result<(), DelegationError> = self.number.try_apply(|_| panic!("inner"));
        assert!(error.unwrap_err().to_string().contains("inner"));
        gossamer::yield_now();
        gossamer::sleep(Duration::from_millis(1));
        self.number.apply(|number| *number += 1);
    }
}

#[test]
fn a_destructor_may_apply_while_its_fiber_unwinds() {
    near_and_far(|trustee| {
        let number = trustee.entrust(0_u64);
        // On both workers, so that each serves the other while it unwinds.
        let fibers: Vec<_> = (0..100_usize)
            .map(|index| {
                let body = |(number, index): (Trust<u64>, usize)| {
                    let _first = Applies { number: number.clone() };
                    let _second = Applies { number };
                    assert!(index > 1000, "outer {index} (expected in the output of this test)");
                };
                spawn_on_with(Trustee::all()[index % 2], body, (number.clone(), index))
            })
            .collect();
        for (index, fiber) in fibers.into_iter().enumerate() {
            let error = fiber.try_join().unwrap_err();
            let Reason::Panicked { message, place, .. } = error.reason() else { panic!("{error}") };
            assert!(message.starts_with(&format!("outer {index} ")), "{message}");
            assert!(place.as_deref().is_some_and(|place| place.contains(file!())), "{place:?}");
        }
        wait_until(|| number.apply(|number| *number) == 800);
    });
}

/// The largest argument that travels in a slot, so that few requests fill a lane.
type Large = [u64; 32];

/// Calls `apply` when it is dropped, with an argument that a full lane has no room for.
struct AppliesLarge(Trust<u64>);

impl Drop for AppliesLarge {
    fn drop(&mut self) {
        self.0.apply_with(|number, large: Large| *number += large[0], [1; 32]);
    }
}

#[test]
fn a_full_lane_does_not_stop_a_destructor_nor_those_that_wait_behind_it() {
    in_runtime(2, || {
        let number = Trustee::all()[1].entrust(0_u64);
        let mut expected = 0;
        // The trustee is kept busy until the lane is full, and a fiber then unwinds.
        for requests in 44..60 {
            number.apply_then(|_| std::thread::sleep(Duration::from_millis(10)), |()| ());
            gossamer::sleep(Duration::from_millis(2));
            let fiber = spawn_on_with(
                Trustee::here(),
                |(number, requests): (Trust<u64>, u64)| -> () {
                    let _applies = AppliesLarge(number.clone());
                    for _ in 0..requests {
                        number.apply_with_then(|number, large: Large| *number += large[0], [1; 32], |()| ());
                    }
                    panic!("in front of a full lane (expected in the output of this test)");
                },
                (number.clone(), requests),
            );
            assert!(fiber.try_join().is_err());
            // Those that find the lane full after that must not be forgotten.
            for _ in 0..500 {
                number.apply_with_then(|number, large: Large| *number += large[0], [1; 32], |()| ());
            }
            expected += requests + 501;
            assert_eq!(number.apply(|number| *number), expected);
        }
    });
}

/// Launches on a latch when it is dropped.
struct Launches(Trust<Latch<u32>>);

impl Drop for Launches {
    fn drop(&mut self) {
        self.0.launch(|number| *number += 1);
    }
}

/// Launches without waiting when it is dropped.
struct LaunchesAndGoesOn(Trust<Latch<u32>>);

impl Drop for LaunchesAndGoesOn {
    fn drop(&mut self) {
        self.0.launch_then(|number| *number += 1, |()| ());
    }
}

#[test]
fn a_destructor_may_launch_without_waiting_while_its_fiber_unwinds() {
    near_and_far(|trustee| {
        let latch = trustee.entrust(Latch::new(0_u32));
        let fiber = spawn_on_with(
            Trustee::here(),
            |latch: Trust<Latch<u32>>| -> () {
                let _launches = LaunchesAndGoesOn(latch);
                panic!("expected in the output of this test");
            },
            latch.clone(),
        );
        assert!(fiber.try_join().is_err());
        wait_until(|| latch.launch(|number| *number) == 1);
    });
}

/// Runs the test again in a child whose first fiber unwinds over a `Launches` at the last of `threads` workers.
fn ends_with_a_message(threads: usize) {
    let ended = in_child(
        |_| (),
        move || {
            gossamer::run(integration_tests::workers(threads), || {
                let trustee = Trustee::all().into_iter().next_back().unwrap();
                let _launches = Launches(trustee.entrust(Latch::new(0_u32)));
                panic!("outer");
            });
        },
    );
    assert!(!ended.status.success());
    assert!(ended.errors.contains("unwinds from a panic"), "{}", ended.errors);
}

#[test]
fn a_destructor_that_would_wait_for_a_fiber_of_its_own_worker_ends_with_a_message_not_in_silence() {
    ends_with_a_message(1);
}

#[test]
fn a_destructor_that_might_wait_for_a_fiber_of_its_own_worker_over_another_ends_with_a_message_too() {
    ends_with_a_message(2);
}

/// Takes 4 KiB of stack a step.
#[inline(never)]
fn descend(steps: u32) -> u32 {
    let frame = std::hint::black_box([1_u8; 4096]);
    if steps == 0 { 0 } else { descend(steps - 1) + u32::from(frame[steps as usize]) }
}

#[test]
fn closures_of_others_have_the_workers_stack_while_a_fiber_with_a_small_one_unwinds() {
    in_runtime(2, || {
        let (here, there) = (entrust(0_u64), Trustee::all()[1].entrust(0_u64));
        let fiber = Trustee::all()[1].spawn_with(
            |here: Trust<u64>| -> () {
                let _applies = AppliesLarge(here);
                gossamer::sleep(Duration::from_millis(5));
                panic!("expected in the output of this test");
            },
            here,
        );
        gossamer::yield_now();
        // Meanwhile the fiber unwinds, and waits for this worker.
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(there.apply(|_| descend(100)), 100);
        assert!(fiber.try_join().is_err());
    });
}

/// In its destructor, polls in two ways for what others have to do first.
struct Polls {
    far: Trust<u64>,
    near: Trust<bool>,
}

impl Drop for Polls {
    fn drop(&mut self) {
        let answer = self.far.apply_async(|number| {
            *number += 1;
            *number
        });
        while !answer.is_finished() {
            gossamer::yield_now();
        }
        assert_eq!(answer.wait(), 1);
        while !self.near.apply(|flag| *flag) {}
    }
}

#[test]
fn a_destructor_that_polls_while_its_fiber_unwinds_keeps_nobody_from_what_it_polls_for() {
    in_runtime(2, || {
        let other = Trustee::all()[1];
        let (far, near) = (other.entrust(0_u64), entrust(false));
        let sets = |near: Trust<bool>| {
            gossamer::sleep(Duration::from_millis(20));
            near.apply(|flag| *flag = true);
        };
        let setter = other.spawn_with(sets, near.clone());
        let polls = |(far, near): (Trust<u64>, Trust<bool>)| -> () {
            let _polls = Polls { far, near };
            panic!("expected in the output of this test");
        };
        assert!(spawn_on_with(Trustee::here(), polls, (far, near)).try_join().is_err());
        setter.join();
    });
}
