//! Requests that nobody waits for are sent in runs where they are alike: nobody can tell.

use fastrand::Rng;
use gossamer::{NoRef, Trust, Trustee, entrust};
use integration_tests::{Counted, Tally, in_child, in_runtime, near_and_far, wait_until, watched, workers};
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn each_request_counts_though_others_panic() {
    in_runtime(2, || {
        for trustee in Trustee::all() {
            let (tally, kept) = (Tally::new(), trustee.entrust(Vec::<(u64, Counted)>::new()));
            let from = entrust(());
            let send = move |(kept, value): (Trust<Vec<(u64, Counted)>>, Counted)| {
                for number in 0..1000_u64 {
                    let closure = |kept: &mut Vec<(u64, Counted)>, (number, value): (u64, Counted)| {
                        // Half of those that panic have given their value away.
                        assert!(number % 10 != 3, "expected in the output of this test");
                        kept.push((number, value));
                        assert!(number % 10 != 7, "expected in the output of this test");
                    };
                    kept.apply_with_unawaited(closure, (number, value.clone()));
                }
            };
            from.apply_with(move |(), sent| send(sent), (kept.clone(), tally.value()));
            send((kept.clone(), tally.value()));
            let expected: Vec<u64> = (0..1000).filter(|number| number % 10 != 3).collect();
            wait_until(|| kept.apply(|kept| kept.len()) == 2 * expected.len());
            let mut arrived = kept.apply(|kept| kept.iter().map(|(number, _)| *number).collect::<Vec<_>>());
            if arrived != expected.repeat(2) {
                // The two senders are two, though they are on one worker.
                arrived.sort_unstable();
                let twice = expected.iter().flat_map(|number| [*number; 2]).collect::<Vec<_>>();
                assert_eq!(arrived, twice);
            }
            drop(kept);
            wait_until(|| tally.is_even());
        }
    });
}

#[test]
fn the_errors_of_a_run_are_all_reported_with_their_line() {
    let ended = in_child(
        |_| (),
        || {
            near_and_far(|trustee| {
                let (from, number) = (entrust(()), trustee.entrust(0_u32));
                let send = |(): &mut (), number: Trust<u32>| {
                    for index in 0..300_u32 {
                        number.apply_with_unawaited(
                            |number, index| {
                                *number += 1;
                                assert!(index % 100 != 50, "number {index} unheard");
                            },
                            index,
                        );
                    }
                };
                from.apply_with(send, number.clone());
                wait_until(|| number.apply(|number| *number) == 300);
            });
        },
    );
    assert!(ended.status.success(), "{}", ended.errors);
    for index in [50, 150, 250] {
        let text = format!("number {index} unheard");
        let printed = |line: &&str| line.contains(&text) && line.matches(file!()).count() >= 2;
        assert!(ended.errors.lines().filter(printed).count() >= 2, "{}", ended.errors);
    }
}

/// What a trustee has heard: from whom, and what.
type Heard = Vec<(u8, u64)>;

#[test]
fn all_kinds_of_requests_to_several_properties_keep_their_order() {
    in_runtime(2, || {
        thread_local! {
            static NEXT: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
        }
        fn hear(heard: &mut Heard, kind: u8, number: u64) {
            assert_eq!(NEXT.replace(number + 1), number);
            heard.push((kind, number));
        }
        for trustee in Trustee::all() {
            let properties: Vec<_> = (0..3).map(|_| trustee.entrust(Heard::new())).collect();
            let from = Trustee::all()[0].entrust(());
            let send = |(): &mut (), properties: Vec<Trust<Heard>>| {
                let (mut random, mut number) = (Rng::with_seed(7), 0);
                while number < 100_000 {
                    let (property, kind) = (&properties[random.usize(..3)], random.u8(..6));
                    for _ in 0..random.usize(..20) {
                        match kind {
                            0 => {
                                property.apply_with_unawaited(|heard, number| hear(heard, 0, number), number)
                            }
                            1 => property.apply_with_unawaited(
                                |heard, (number, _filling): (u64, [u64; 31])| hear(heard, 1, number),
                                (number, [0; 31]),
                            ),
                            2 => property.apply_with_unawaited(
                                |heard, (number, _boxed): (u64, [u64; 100])| hear(heard, 2, number),
                                (number, [0; 100]),
                            ),
                            3 => property.apply_unawaited(|heard| hear(heard, 3, NEXT.get())),
                            4 => {
                                property.apply_with_then(|heard, number| hear(heard, 4, number), number, drop)
                            }
                            _ => property.apply_with_then(
                                |heard, number| {
                                    hear(heard, 5, number);
                                    [number; 20]
                                },
                                number,
                                move |numbers| assert_eq!(numbers, [number; 20]),
                            ),
                        }
                        number += 1;
                    }
                }
                number
            };
            NEXT.set(0);
            let reset = trustee.entrust(());
            reset.apply(|()| NEXT.set(0));
            let sent = from.apply_with(send, properties.clone());
            let heard = || properties.iter().map(|heard| heard.apply(|heard| heard.len())).sum::<usize>();
            wait_until(|| heard() as u64 == sent);
        }
    });
}

/// Sends many requests when it is dropped.
#[derive(NoRef)]
struct Farewell {
    to: Trust<Vec<Counted>>,
    value: Counted,
}

impl Drop for Farewell {
    fn drop(&mut self) {
        for _ in 0..100 {
            self.to.apply_with_unawaited(|kept, value| kept.push(value), self.value.clone());
        }
    }
}

#[test]
fn what_nobody_serves_any_more_is_dropped() {
    watched(|| {
        let tally = Tally::new();
        for threads in [1, 2] {
            gossamer::run(workers(threads), || {
                let all = Trustee::all();
                for round in 0..20 {
                    let to = all[round % all.len()].entrust(Vec::new());
                    // Both are kept to the end, where they are dropped in some order.
                    let farewell = Farewell { to, value: tally.value() };
                    integration_tests::keep_for_ever(all[(round / 2) % all.len()].entrust(farewell));
                }
            });
            wait_until(|| tally.is_even());
        }
    });
}

#[test]
fn runs_from_destructors_of_other_requests_are_served() {
    in_runtime(2, || {
        let tally = Tally::new();
        let kept = Trustee::all()[1].entrust(Vec::new());
        let other = Trustee::all()[1].entrust(());
        // The answer to the request drops what the callback holds.
        let farewell = Farewell { to: kept.clone(), value: tally.value() };
        other.apply_then(|()| (), move |()| drop(farewell));
        let farewell = Farewell { to: kept.clone(), value: tally.value() };
        other.apply_with_unawaited(|(), farewell| drop(farewell), farewell);
        wait_until(|| kept.apply(|kept| kept.len()) == 200);
        drop(kept);
        wait_until(|| tally.is_even());
    });
}

#[test]
fn requests_of_a_run_are_counted_one_by_one() {
    in_runtime(2, || {
        let (from, number) = (entrust(()), Trustee::all()[1].entrust(0_u64));
        let send =
            |(): &mut (), number: Trust<u64>| (0..10_000).for_each(|_| number.apply_unawaited(|n| *n += 1));
        from.apply_with(send, number.clone());
        wait_until(|| number.apply(|number| *number) == 10_000);
        let total = gossamer::metrics().total();
        let (sent, served) = (total.requests_sent(), total.requests_served());
        assert!(sent >= 10_000 && served >= 10_000, "{sent} {served}");
    });
}

/// Aligned more strictly than the words of a batch.
#[derive(Clone, Copy, NoRef)]
#[repr(align(64))]
struct Aligned([u8; 65]);

/// Sends runs of many lengths with a value of a type, in which requests at certain places panic.
fn send_beside_panics<V: NoRef + Copy + 'static>(trustee: Trustee, filling: V) {
    type Kept = Vec<(usize, Counted)>;
    fn panics(way: usize, number: usize, length: usize) -> bool {
        [number == 0, number == length - 1, true, number == 124 || number == 125, number % 2 == 1][way]
    }
    let (from, tally) = (entrust(()), Tally::new());
    for (way, length) in
        (0..5).flat_map(|way| [1, 2, 61, 62, 63, 124, 125, 126, 251].map(|length| (way, length)))
    {
        let kept = trustee.entrust(Kept::new());
        let send =
            |(): &mut (), (kept, value, filling, way, length): (Trust<Kept>, Counted, V, usize, usize)| {
                for number in 0..length {
                    kept.apply_with_unawaited(
                        |kept, (number, value, filling, way, length): (usize, Counted, V, usize, usize)| {
                            assert!((&raw const filling).is_aligned());
                            if panics(way, number, length) {
                                // Not text, and some have given their value away.
                                kept.extend((number % 3 == 0).then_some((number, value)));
                                std::panic::panic_any(number);
                            }
                            kept.push((number, value));
                        },
                        (number, value.clone(), filling, way, length),
                    );
                }
            };
        from.apply_with(send, (kept.clone(), tally.value(), filling, way, length));
        let arrives = |number: &usize| !panics(way, *number, length) || number.is_multiple_of(3);
        let expected: Vec<_> = (0..length).filter(arrives).collect();
        wait_until(|| kept.apply(|kept| kept.len()) == expected.len());
        let arrived = kept.apply(|kept| kept.iter().map(|(number, _)| *number).collect::<Vec<_>>());
        assert_eq!(arrived, expected);
    }
    wait_until(|| tally.is_even());
}

#[test]
fn arguments_of_any_size_are_dropped_once_wherever_requests_panic() {
    near_and_far(|trustee| {
        send_beside_panics(trustee, ());
        send_beside_panics(trustee, [7_u8; 3]);
        send_beside_panics(trustee, u128::MAX);
        send_beside_panics(trustee, Aligned([7; 65]));
        // Just below and above what travels inside a slot.
        send_beside_panics(trustee, [7_u64; 27]);
        send_beside_panics(trustee, [7_u64; 28]);
    });
}

#[test]
fn arguments_without_size_and_panics_whose_payload_panics_end_no_run() {
    near_and_far(|trustee| {
        static DROPPED: AtomicUsize = AtomicUsize::new(0);
        #[derive(NoRef)]
        struct Nothing;
        impl Drop for Nothing {
            fn drop(&mut self) {
                // Every fifth time, unless that would be a panic within one.
                let dropped = DROPPED.fetch_add(1, Ordering::Relaxed);
                assert!(
                    !dropped.is_multiple_of(5) || std::thread::panicking(),
                    "expected in the output of this test"
                );
            }
        }
        struct Bomb(usize);
        impl Drop for Bomb {
            fn drop(&mut self) {
                if self.0 > 0 {
                    std::panic::panic_any(Self(self.0 - 1));
                }
            }
        }
        DROPPED.store(0, Ordering::Relaxed);
        let (from, count) = (entrust(()), trustee.entrust(0_usize));
        let send = |(): &mut (), count: Trust<usize>| {
            for _ in 0..1000 {
                let serve = |count: &mut usize, _nothing: Nothing| {
                    *count += 1;
                    if count.is_multiple_of(3) {
                        // Not so many that they are given up: the sanitizer would find them.
                        std::panic::panic_any(Bomb(*count % 4));
                    }
                };
                count.apply_with_unawaited(serve, Nothing);
            }
        };
        from.apply_with(send, count.clone());
        wait_until(|| count.apply(|count| *count) == 1000);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 1000);
    });
}

/// What branches into more of itself, on all trustees.
#[derive(Clone, NoRef)]
struct Branch {
    parts: Vec<Trust<usize>>,
    value: Counted,
    depth: u32,
}

fn branch(count: &mut usize, branch_off: Branch) {
    *count += 1;
    if branch_off.depth > 0 {
        for child in 0..4_usize {
            let to = &branch_off.parts[child * 2 / 3 % branch_off.parts.len()];
            to.apply_with_unawaited(branch, Branch { depth: branch_off.depth - 1, ..branch_off.clone() });
        }
    }
    assert!(!count.is_multiple_of(50), "expected in the output of this test");
}

#[test]
fn requests_of_runs_that_panic_after_they_sent_runs_have_sent_them() {
    for threads in [1, 2, 3] {
        in_runtime(threads, || {
            let tally = Tally::new();
            let parts: Vec<_> = Trustee::all().iter().map(|trustee| trustee.entrust(0)).collect();
            let root = Branch { parts: parts.clone(), value: tally.value(), depth: 6 };
            parts[0].apply_with_unawaited(branch, root);
            let all = (0..=6).map(|depth| 4_usize.pow(depth)).sum::<usize>();
            wait_until(|| parts.iter().map(|part| part.apply(|count| *count)).sum::<usize>() == all);
            wait_until(|| tally.is_even());
        });
    }
}
