//! Sorting, against `Vec`.

use crate::layouts;
use fastrand::Rng;
use gossamer::collections::{DistVec, Layout};
use gossamer::{NoRef, TeamMember, Trustee, Workers, spawn_local, spawn_on_with, yield_now};
use integration_tests::{in_runtime, isolated, on_nodes, panic_text, text_of};
use std::cmp::Ordering;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{self, AtomicUsize};

/// How many elements there are, with how many different keys.
const INPUTS: [(usize, u64); 4] = [(0, 5), (2, 5), (2000, 5), (2000, u64::MAX)];

#[test]
fn a_vector_is_sorted_as_a_vec_is() {
    in_runtime(1, || INPUTS.into_iter().for_each(sort));
    in_runtime(2, || INPUTS.into_iter().for_each(sort));
    in_runtime(4, || sort((500, 5)));
    on_nodes(2, 2, || sort((200, 5)));
}

/// Keys, with the place where each was; if there are few different keys, many are equal.
fn input(random: &mut Rng, len: usize, keys: u64) -> Vec<(u64, usize)> {
    (0..len).map(|place| (random.u64(..keys), place)).collect()
}

#[gossamer::delegate]
fn sort((len, keys): (usize, u64)) {
    let mut random = Rng::with_seed(3);
    for layout in layouts(len) {
        let mut oracle = input(&mut random, len, keys);
        let vector = DistVec::from_vec(layout, oracle.clone());
        let mask = u64::MAX / 2;
        oracle.sort_by_key(|(key, _)| key & mask);
        vector.par_sort_by_key(|(key, _)| key & mask);
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
        oracle.sort_by_key(|(key, _)| std::cmp::Reverse(*key));
        vector.par_sort_by(|one, other| other.0.cmp(&one.0));
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
        oracle.sort_unstable_by_key(|(key, place)| (key & mask, *place));
        vector.par_sort_unstable_by_key(|(key, place)| (key & mask, *place));
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
        oracle.sort_unstable();
        vector.par_sort_unstable();
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
        oracle.sort_unstable_by(|one, other| other.cmp(one));
        vector.par_sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(vector.to_vec(), oracle, "{len} {keys}");
    }
}

#[test]
fn texts_are_sorted_and_none_is_lost() {
    on_nodes(2, 2, || {
        let mut oracle: Vec<String> = (0..300).map(|number| format!("{:03}", number * 7919 % 300)).collect();
        let texts = DistVec::from_slice(&oracle);
        texts.par_sort();
        oracle.sort();
        assert_eq!(texts.to_vec(), oracle);
    });
}

#[test]
fn an_order_that_is_none_ends_all_the_same() {
    in_runtime(3, || {
        let vector = DistVec::from_fn(1000, |index| index);
        // Whatever the result is: it ends, and each element is there once.
        _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            vector.par_sort_by(
                |one, other| if (one ^ other) % 3 == 0 { other.cmp(one) } else { one.cmp(other) },
            );
        }));
        let mut left = vector.to_vec();
        left.sort_unstable();
        assert!(left.into_iter().eq(0..1000));
    });
}

/// Comparisons are counted; one of them panics.
static COMPARISONS: AtomicUsize = AtomicUsize::new(0);
static PANICS: AtomicUsize = AtomicUsize::new(usize::MAX);

fn compare(one: u64, other: u64) -> std::cmp::Ordering {
    let number = COMPARISONS.fetch_add(1, atomic::Ordering::Relaxed);
    assert!(number != PANICS.load(atomic::Ordering::Relaxed), "planned");
    one.cmp(&other)
}

#[test]
fn a_comparison_that_panics_at_any_time_loses_no_element() {
    isolated(|| {
        in_runtime(2, || {
            for layout in [Layout::block(200), Layout::cyclic(200)] {
                let shuffled =
                    || DistVec::from_fn(layout.clone(), const { |index| index as u64 * 7919 % 200 });
                COMPARISONS.store(0, atomic::Ordering::Relaxed);
                shuffled().par_sort_by(|one, other| compare(*one, *other));
                for panics in (0..COMPARISONS.swap(0, atomic::Ordering::Relaxed)).step_by(13) {
                    let vector = shuffled();
                    PANICS.store(panics, atomic::Ordering::Relaxed);
                    let sorted = catch_unwind(AssertUnwindSafe(|| {
                        vector.par_sort_by(|one, other| compare(*one, *other));
                    }));
                    PANICS.store(usize::MAX, atomic::Ordering::Relaxed);
                    assert!(sorted.is_err(), "comparison {panics} panics");
                    let mut left = vector.to_vec();
                    left.sort_unstable();
                    assert!(left.into_iter().eq(0..200), "{panics}");
                    // Nothing of the one that failed is in its way. It ends after what the other worker still compares.
                    vector.par_sort();
                    assert!(vector.to_vec().into_iter().eq(0..200), "{panics}");
                    COMPARISONS.store(0, atomic::Ordering::Relaxed);
                }
            }
        });
    });
}

#[test]
fn a_sort_can_follow_at_once_on_one_that_has_failed() {
    on_nodes(2, 2, || {
        for round in 0..50 {
            let vector = DistVec::from_fn(400, const { |index| index as u64 * 7919 % 400 });
            let fail = const { |one: &u64, _: &u64| -> std::cmp::Ordering { panic!("planned for {one}") } };
            let text = panic_text(|| vector.par_sort_by(fail));
            assert!(text.contains("planned"), "{text}");
            vector.par_sort();
            assert!(vector.to_vec().into_iter().eq(0..400), "round {round}");
        }
    });
}

#[gossamer::delegate]
fn sort_by_many(len: usize) {
    let vector = DistVec::from_fn_with(len, |index, len| index * 7919 % len, len);
    let refused: usize = Workers::all()
        .each_with(
            const {
                |_: &TeamMember, vector: DistVec<usize>| {
                    let sort = || catch_unwind(AssertUnwindSafe(|| vector.par_sort()));
                    let failed: Vec<_> = (0..20).filter_map(|_| sort().err()).collect();
                    let count = failed.len();
                    for text in failed.into_iter().map(text_of) {
                        assert!(text.contains("is being sorted by") && text.contains("sorts.rs"), "{text}");
                    }
                    count
                }
            },
            vector.clone(),
        )
        .into_iter()
        .sum();
    assert!(refused < 20 * Workers::all().trustees().len(), "some come first");
    assert!(vector.to_vec().into_iter().eq(0..len));
    vector.par_sort_by(|one, other| other.cmp(one));
    assert!(vector.to_vec().into_iter().eq((0..len).rev()));
}

#[test]
fn a_vector_that_is_being_sorted_refuses_to_be_sorted_by_another_fiber() {
    in_runtime(2, || sort_by_many(1000));
    on_nodes(2, 2, || sort_by_many(100));
}

#[test]
fn a_sort_that_is_cancelled_at_any_time_loses_no_element_and_others_can_follow() {
    in_runtime(2, || {
        let mut random = Rng::with_seed(5);
        let vector = DistVec::from_fn(5000, |index| index);
        for round in 0..60 {
            let sorted = vector.clone();
            let fiber = spawn_local(move || {
                sorted.par_sort_by_key_with(|number, by| number.wrapping_mul(*by), 2 * round + 1)
            });
            (0..random.usize(..12)).for_each(|_| yield_now());
            fiber.cancel();
            let was_cancelled = fiber.try_join().is_err();
            let mut left = vector.to_vec();
            left.sort_unstable();
            assert!(left.into_iter().eq(0..5000), "round {round}: cancelled {was_cancelled}");
        }
        vector.par_sort();
        assert!(vector.to_vec().into_iter().eq(0..5000));
    });
}

#[test]
fn a_sort_that_begins_after_one_that_was_cancelled_sorts_and_loses_no_element() {
    in_runtime(3, || {
        let slowly = |one: &u64, other: &u64| {
            (0..20).for_each(|_| std::hint::spin_loop());
            one.cmp(other)
        };
        let mut random = Rng::with_seed(7);
        let vector = DistVec::from_fn(300, |index| index as u64);
        for round in 0..300 {
            let sorted = vector.clone();
            let fiber = spawn_local(move || sorted.par_sort_by(slowly));
            let other = Trustee::all()[1 + round % 2];
            let sort_after = const {
                |vector: DistVec<u64>| {
                    while catch_unwind(AssertUnwindSafe(|| vector.par_sort_by(|one, other| other.cmp(one))))
                        .is_err()
                    {}
                }
            };
            let next = spawn_on_with(other, sort_after, vector.clone());
            (0..random.usize(..30)).for_each(|_| yield_now());
            fiber.cancel();
            let _ = fiber.try_join();
            next.join();
            vector.par_sort_by(|one, other| other.cmp(one));
            assert!(vector.to_vec().into_iter().eq((0..300).rev()), "round {round}");
        }
    });
}

/// The destructor of one of them panics.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, NoRef)]
struct Dropped(usize);

static DROPS: AtomicUsize = AtomicUsize::new(0);

impl Drop for Dropped {
    fn drop(&mut self) {
        let number = DROPS.fetch_add(1, atomic::Ordering::Relaxed);
        assert!(number != PANICS.load(atomic::Ordering::Relaxed) || std::thread::panicking(), "planned");
    }
}

#[test]
fn an_element_whose_destructor_panics_in_a_sort_takes_no_other_along() {
    isolated(|| {
        in_runtime(2, || {
            for panics in 0..60 {
                let vector = DistVec::from_fn(40, const { |index| Dropped(index * 17 % 40) });
                DROPS.store(0, atomic::Ordering::Relaxed);
                PANICS.store(panics, atomic::Ordering::Relaxed);
                _ = catch_unwind(AssertUnwindSafe(|| vector.par_sort()));
                PANICS.store(usize::MAX, atomic::Ordering::Relaxed);
                let mut left: Vec<usize> = vector.to_vec().iter().map(|element| element.0).collect();
                left.sort_unstable();
                assert!(left.into_iter().eq(0..40), "{panics}");
            }
        });
    });
}

#[test]
fn a_comparison_whose_answers_change_loses_no_element() {
    in_runtime(1, || {
        let here = Trustee::here();
        let mut refused = 0;
        for seed in 0..30_000 {
            fastrand::seed(seed);
            let len = fastrand::usize(..20);
            let vector = DistVec::from_fn(Layout::block(len).on(&[here, here, here]), |index| index);
            refused += usize::from(catch_unwind(AssertUnwindSafe(|| vector.par_sort_by(answer))).is_err());
            let mut left = vector.to_vec();
            left.sort_unstable();
            assert!(left.into_iter().eq(0..len), "seed {seed}");
        }
        assert!(refused > 0, "some orders are not found out by a slice's sort");
    });
}

/// Right most of the time.
fn answer(one: &usize, other: &usize) -> Ordering {
    if fastrand::u8(..4) == 0 { other.cmp(one) } else { one.cmp(other) }
}
