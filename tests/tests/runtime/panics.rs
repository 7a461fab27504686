//! A panic in a delegated closure reaches its caller, with its message and its places, and nobody else.

use gossamer::{DelegationError, Latch, Reason, Sharded, Trustee, entrust, spawn_on_with};
use integration_tests::{Tally, in_child, in_runtime, near_and_far, panic_text, wait_until};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Whether one of the lines contains a `file:line:column` of this file.
fn is_in(place: &str, lines: std::ops::RangeInclusive<u32>) -> bool {
    let line = place.strip_prefix(file!()).and_then(|rest| rest.split(':').nth(1)?.parse().ok());
    line.is_some_and(|line| lines.contains(&line))
}

/// The message and the place of a panic.
#[track_caller]
fn panicked(error: &DelegationError) -> (&str, &str) {
    match error.reason() {
        Reason::Panicked { message, place, .. } => (message, place.as_deref().unwrap_or("nowhere")),
        other => panic!("it did not panic: {other:?}"),
    }
}

#[test]
fn try_apply_tells_the_message_the_place_and_the_sender_of_a_panic() {
    near_and_far(|trustee| {
        let number = trustee.entrust(7_u32);
        let first = line!();
        let error =
            number.try_apply_with(|number, by| -> u32 { panic!("{number} plus {by}") }, 5).unwrap_err();
        let lines = first..=line!();
        let (message, place) = panicked(&error);
        assert_eq!(message, "7 plus 5");
        assert!(is_in(place, lines.clone()), "{place}");
        assert!(is_in(&error.sent_from().unwrap().to_string(), lines), "{error}");
        assert_eq!(error.worker(), trustee.index());
        assert_eq!(number.apply(|number| *number), 7);
    });
}

#[test]
fn apply_panics_at_its_caller_with_the_message_the_place_and_the_sender() {
    near_and_far(|trustee| {
        let number = trustee.entrust(7_u32);
        let first = line!();
        let text = panic_text(|| number.apply(|_| -> u32 { panic!("no number") }));
        let lines = first..=line!();
        assert!(text.contains("no number"), "{text}");
        let places: Vec<_> = text.split(' ').filter(|word| word.contains(file!())).collect();
        let places: Vec<_> = places.iter().map(|place| place.trim_matches([':', '(', ')'])).collect();
        assert!(places.len() == 2 && places.iter().all(|place| is_in(place, lines.clone())), "{text}");
        assert_eq!(number.apply(|number| *number), 7);
    });
}

#[test]
fn a_panic_that_nobody_waits_for_spares_the_fiber_and_is_printed_with_its_places() {
    let ended = in_child(
        |_| (),
        || {
            near_and_far(|trustee| {
                let number = trustee.entrust(7_u32);
                number.apply_with_unawaited(|number, by| panic!("{number} plus {by} unheard"), 5);
                number.apply_unawaited(|number| *number += 1);
                assert_eq!(number.apply(|number| *number), 8);
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    let printed = |line: &&str| line.contains("7 plus 5 unheard") && line.matches(file!()).count() >= 2;
    assert!(ended.errors.lines().filter(printed).count() >= 2, "{}", ended.errors);
}

#[test]
fn a_pending_result_tells_of_the_panic_when_it_is_waited_for() {
    near_and_far(|trustee| {
        let number = trustee.entrust(7_u32);
        let first = line!();
        let pending = number.apply_async(|_| -> u32 { panic!("later") });
        let lines = first..=line!();
        let error = pending.try_wait().unwrap_err();
        assert_eq!(panicked(&error).0, "later");
        assert!(is_in(&error.sent_from().unwrap().to_string(), lines), "{error}");
        let pending = number.apply_async(|_| -> u32 { panic!("later still") });
        assert!(panic_text(|| pending.wait()).contains("later still"));
    });
}

#[test]
fn of_many_requests_in_a_batch_only_those_that_panic_fail() {
    near_and_far(|trustee| {
        let number = trustee.entrust(1_u64);
        let fibers: Vec<_> = (0..1000_u64)
            .map(|index| {
                let body = |(number, index): (gossamer::Trust<u64>, u64)| {
                    let outcome = number.try_apply_with(
                        |number, index| {
                            *number += 1;
                            assert!(!index.is_multiple_of(7), "{index} is lucky");
                            // Results of several sizes, so that a result after a failure has a place of its own.
                            vec![index; (index % 5) as usize]
                        },
                        index,
                    );
                    match outcome {
                        Ok(list) => assert_eq!(list, vec![index; (index % 5) as usize]),
                        Err(error) => assert_eq!(panicked(&error).0, format!("{index} is lucky")),
                    }
                };
                spawn_on_with(Trustee::here(), body, (number.clone(), index))
            })
            .collect();
        fibers.into_iter().for_each(|fiber| fiber.join());
        assert_eq!(number.apply(|number| *number), 1001);
    });
}

#[test]
fn a_panicking_closure_drops_its_arguments_and_its_callback_once() {
    near_and_far(|trustee| {
        let tally = Tally::new();
        let number = trustee.entrust(0_u32);
        for _ in 0..100 {
            let callback = tally.value();
            number.apply_with_then(
                |number, _argument| -> u32 {
                    *number += 1;
                    panic!("nobody waits for this one (expected in the output of this test)")
                },
                tally.value(),
                move |_| drop(callback),
            );
        }
        assert_eq!(number.apply(|number| *number), 100);
        wait_until(|| tally.is_even());
        assert_eq!(tally.dropped(), 200);
    });
}

#[test]
fn a_panic_in_a_callback_spares_the_other_callbacks_and_the_fiber() {
    near_and_far(|trustee| {
        static CALLED: AtomicUsize = AtomicUsize::new(0);
        CALLED.store(0, Ordering::Relaxed);
        let tally = Tally::new();
        let number = trustee.entrust(0_u32);
        for index in 0..100 {
            let held = tally.value();
            number.apply_with_then(
                |number, _| *number += 1,
                tally.value(),
                move |()| {
                    let _held = held;
                    CALLED.fetch_add(1, Ordering::Relaxed);
                    assert!(index % 10 != 3, "a callback panics (expected in the output of this test)");
                },
            );
        }
        assert_eq!(number.apply(|number| *number), 100);
        wait_until(|| CALLED.load(Ordering::Relaxed) == 100 && tally.is_even());
    });
}

#[test]
fn a_payload_that_is_no_text_reaches_the_caller_as_such() {
    near_and_far(|trustee| {
        let number = trustee.entrust(0_u32);
        let error = number.try_apply(|_| -> u32 { panic_any(7_u8) }).unwrap_err();
        assert!(panicked(&error).0.contains("not text"), "{error}");
        let error = trustee.spawn(|| -> u32 { panic_any(vec![1, 2]) }).try_join().unwrap_err();
        assert!(panicked(&error).0.contains("not text"), "{error}");
    });
}

/// A panic's payload that itself panics when it is dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("a payload explodes (expected in the output of this test)");
        }
    }
}

#[test]
fn a_payload_whose_drop_panics_harms_nobody() {
    near_and_far(|trustee| {
        let number = trustee.entrust(0_u32);
        assert!(number.try_apply(|_| -> u32 { panic_any(Bomb) }).is_err());
        assert!(trustee.spawn(|| -> u32 { panic_any(Bomb) }).try_join().is_err());
        let tally = Tally::new();
        let held = tally.value();
        number.apply_then(
            |_| (),
            move |()| {
                let _held = held;
                panic_any(Bomb)
            },
        );
        wait_until(|| tally.is_even());
        assert_eq!(number.apply(|number| *number), 0);
    });
}

#[test]
fn a_fiber_that_panics_tells_whoever_joins_it_and_nobody_else() {
    near_and_far(|trustee| {
        let first = line!();
        let error = trustee.spawn_with(|by| -> u32 { panic!("fiber {by}") }, 5).try_join().unwrap_err();
        let lines = first..=line!();
        let (message, place) = panicked(&error);
        assert_eq!(message, "fiber 5");
        assert!(is_in(place, lines.clone()), "{place}");
        assert!(is_in(&error.sent_from().unwrap().to_string(), lines), "{error}");
        let fiber = trustee.spawn(|| -> u32 { panic!("joined") });
        assert!(panic_text(|| fiber.join()).contains("joined"));
        drop(
            trustee
                .spawn(|| -> u32 { panic!("nobody joins this one (expected in the output of this test)") }),
        );
        assert_eq!(trustee.spawn(|| 7).join(), 7);
    });
}

#[test]
fn the_panic_of_whoever_waits_is_at_the_line_that_waits() {
    /// Ways to wait for a panic.
    const WAITS: [fn(Trustee); 9] = [
        |trustee| trustee.entrust(0_u32).apply(|_| panic!("far")),
        |trustee| trustee.entrust(0_u32).apply_with(|_, ()| panic!("far"), ()),
        |trustee| trustee.entrust(0_u32).apply_async(|_| -> () { panic!("far") }).wait(),
        |trustee| trustee.spawn(|| -> () { panic!("far") }).join(),
        |trustee| trustee.entrust(Latch::new(0_u32)).launch(|_| panic!("far")),
        |trustee| trustee.entrust(Latch::new(0_u32)).launch_with(|_, ()| panic!("far"), ()),
        |trustee| drop(trustee.entrust_with(|()| -> u32 { panic!("far") }, ())),
        |_| drop(Sharded::<u32, u32>::with(|| panic!("far"))),
        |_| drop(Sharded::<u32, u32>::new().map_all(|_| -> () { panic!("far") })),
    ];
    const LINES: std::ops::RangeInclusive<u32> = line!() - 14..=line!();
    near_and_far(|trustee| {
        for index in 0..WAITS.len() {
            let body = |(index, trustee): (usize, Trustee)| WAITS[index](trustee);
            let error = gossamer::spawn_with(body, (index, trustee)).try_join().unwrap_err();
            let (message, place) = panicked(&error);
            assert!(message.contains("far"), "{message}");
            assert!(is_in(place, LINES), "way {index}: {place}");
        }
    });
}

#[test]
fn a_panic_of_main_reaches_whoever_started_the_runtime() {
    let text = panic_text(|| in_runtime(2, || panic!("main")));
    assert_eq!(text, "main");
}

#[test]
fn a_caught_panic_leaves_the_fiber_as_it_was() {
    in_runtime(2, || {
        let (near, far) = (entrust(0_u32), Trustee::all()[1].entrust(0_u32));
        for _ in 0..100 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                far.apply(|number| *number += 1);
                near.apply(|number| *number += 1);
                far.apply(|_| -> () { panic!("caught (expected in the output of this test)") });
            }));
            assert!(outcome.is_err());
            gossamer::yield_now();
        }
        assert_eq!((near.apply(|number| *number), far.apply(|number| *number)), (100, 100));
    });
}
