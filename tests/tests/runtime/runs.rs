//! Requests that nobody waits for are sent in runs where they are alike: nobody can tell.

use fastrand::Rng;
use gossamer::{NoRef, Trust, Trustee, entrust};
use integration_tests::{Counted, Tally, in_child, in_runtime, near_and_far, wait_until, watched, workers};

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
