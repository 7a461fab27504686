//! Many updates: by batches, from several handles, finished or dropped.

use crate::layouts;
use gossamer::collections::{DistVec, Layout};
use gossamer::{Trustee, spawn_local, spawn_on, yield_now};
use integration_tests::{Tally, in_child, in_runtime, on_nodes, panic_text, wait_until};
use std::panic::{AssertUnwindSafe, catch_unwind};

#[test]
fn each_update_is_served_once_whatever_the_layout() {
    on_nodes(2, 2, || {
        for layout in layouts(1000) {
            count(layout, 50_000);
        }
    });
}

#[gossamer::delegate]
fn count(layout: Layout, each: usize) {
    let vector = DistVec::filled(layout, 0_u64);
    let mut fibers = Vec::new();
    for trustee in Trustee::all() {
        let vector = vector.clone();
        fibers.push(spawn_on(trustee, move || {
            let mut updates = vector.updates(|count, ()| *count += 1);
            updates.extend((0..each).map(|number| (number * 7919 % 1000, ())));
            updates.finish();
        }));
    }
    fibers.into_iter().for_each(|fiber| fiber.join());
    assert_eq!(vector.to_vec(), [(each / 1000 * Trustee::all().len()) as u64; 1000]);
}

#[test]
fn updates_of_one_worker_are_served_in_their_order() {
    on_nodes(2, 2, || {
        let vector = DistVec::from_fn(Layout::cyclic(10), const { |_| (0_u64, true) });
        let mut updates = vector.updates(
            const {
                |(last, is_ordered): &mut (u64, bool), number: u64| {
                    *is_ordered &= *last < number;
                    *last = number;
                }
            },
        );
        (1..100_000_u64).for_each(|number| updates.push(number as usize * 3 % 10, number));
        updates.finish();
        assert!(vector.to_vec().into_iter().all(|(last, is_ordered)| is_ordered && last > 99_980));
    });
}

#[test]
fn arguments_of_any_size_are_moved_to_their_elements() {
    on_nodes(2, 1, || {
        let texts = DistVec::filled(7, String::new());
        let mut updates =
            texts.updates(const { |text: &mut String, more: Option<String>| text.extend(more.as_deref()) });
        let mut expected = vec![String::new(); 7];
        for number in 0..5000_usize {
            let more = (number % 3 > 0).then(|| number.to_string());
            expected[number % 7].extend(more.as_deref());
            updates.push(number % 7, more);
        }
        updates.finish();
        assert_eq!(texts.to_vec(), expected);

        let large = DistVec::filled(3, 0_u8);
        let mut updates =
            large.updates(const { |element: &mut u8, large: [[u8; 1000]; 100]| *element += large[99][999] });
        (0..50).for_each(|number| updates.push(number % 3, [[1; 1000]; 100]));
        updates.finish();
        assert_eq!(large.to_vec(), [17, 17, 16]);
    });
}

#[test]
fn arguments_are_dropped_once() {
    in_runtime(2, || {
        let tally = Tally::new();
        let vector = DistVec::filled(10, 0_u64);
        let mut updates = vector.updates(|count, value: integration_tests::Counted| {
            drop(value);
            assert_ne!(*count, 50, "a panic in the middle");
            *count += 1;
        });
        (0..10_000).for_each(|number| updates.push(number % 10, tally.value()));
        assert!(updates.try_finish().is_err());
        assert_eq!(tally.made(), 10_000);
        wait_until(|| tally.is_even());
        assert_eq!(vector.to_vec(), [50; 10]);
    });
}

#[test]
fn what_is_flushed_comes_before_what_is_sent_after() {
    in_runtime(2, || {
        let vector = DistVec::filled(2, 0_u64);
        let mut updates = vector.updates(|element, by: u64| *element += by);
        updates.push(1, 5);
        updates.flush();
        assert_eq!(vector.get(1), 5);
        updates.push(1, 5);
        updates.finish();
        assert_eq!(vector.get(1), 10);
    });
}

#[test]
fn updates_come_behind_what_their_fiber_has_sent_before() {
    in_runtime(2, || {
        for index in [0, 1] {
            let vector = DistVec::filled(Layout::cyclic(2), 1_u64);
            let mut updates = vector.updates(|element, by: u64| *element += by);
            vector.update_then(index, |element| *element *= 10, |()| ());
            updates.push(index, 5);
            updates.finish();
            assert_eq!(vector.get(index), 15);
        }
    });
}

#[test]
fn a_handle_works_on_inside_a_delegated_closure_whose_worker_has_elements() {
    in_runtime(2, || {
        let vector = DistVec::filled(Layout::cyclic(100), 0_u64);
        for trustee in Trustee::all() {
            let there = vector.clone();
            trustee.entrust(()).apply_with(
                |(), there: DistVec<u64>| {
                    let mut updates = there.updates(|element, ()| *element += 1);
                    (0..3000).for_each(|number| updates.push(number % 100, ()));
                },
                there,
            );
        }
        wait_until(|| vector.to_vec() == [60; 100]);
    });
}

#[test]
fn a_handle_that_is_dropped_loses_nothing() {
    on_nodes(2, 2, || {
        let vector = DistVec::filled(Layout::cyclic(100), 0_u64);
        for count in [1, 100, 30_000] {
            let mut updates = vector.updates(const { |element: &mut u64, ()| *element += 1 });
            (0..count).for_each(|number| updates.push(number % 100, ()));
            drop(updates);
        }
        wait_until(|| vector.to_vec().into_iter().sum::<u64>() == 30_101);
        // The vector itself is gone before they are served.
        let mut updates = vector.updates(const { |element: &mut u64, ()| *element += 1 });
        (0..30_000).for_each(|number| updates.push(number % 100, ()));
        drop(vector);
        drop(updates);
    });
}

#[test]
fn a_handle_whose_fiber_unwinds_or_is_cancelled_hangs_nothing() {
    in_runtime(2, || {
        let vector = DistVec::filled(100, 0_u64);
        let text = panic_text(|| {
            let mut updates = vector.updates(|element, ()| *element += 1);
            (0..20_000).for_each(|number| updates.push(number % 100, ()));
            updates.push(100, ());
        });
        assert!(text.contains("index 100"), "{text}");
        wait_until(|| vector.to_vec() == [200; 100]);
        let there = vector.clone();
        let fiber = spawn_local(move || {
            let mut updates = there.updates(|element, ()| *element += 1);
            loop {
                updates.push(3, ());
            }
        });
        yield_now();
        fiber.cancel();
        let outcome: Result<(), _> = fiber.try_join();
        assert!(outcome.is_err());
        assert!(vector.get(3) >= 200);
    });
}

#[test]
fn a_panic_in_an_update_of_a_dropped_handle_is_printed() {
    let body = || {
        in_runtime(2, || {
            let vector = DistVec::filled(2, 0_u64);
            let mut updates = vector.updates(|_, ()| panic!("unheard of"));
            updates.push(1, ());
            drop(updates);
            vector.get(1);
            // Also if it has arrived before.
            let mut updates = vector.updates(|_, ()| panic!("arrived before"));
            let there = Trustee::all()[1];
            assert_eq!(vector.trustee_of(1), there);
            updates.push(1, ());
            updates.flush();
            vector.get(1);
            (0..10).for_each(|_| yield_now());
            drop(updates);
        });
    };
    let ended = in_child(|_| (), body);
    assert!(ended.status.success(), "{}", ended.errors);
    for why in ["unheard of", "arrived before"] {
        let report = ended.errors.lines().find(|line| line.contains(&format!("element 1: {why}")));
        let report = report.unwrap_or_else(|| panic!("{why}: {}", ended.errors));
        assert!(
            report.contains("its reply was awaited by nobody") && report.contains("updates.rs"),
            "{report}"
        );
    }
}

#[test]
fn two_handles_of_one_fiber_do_not_wait_for_each_other() {
    in_runtime(1, || {
        let vector = DistVec::filled(10, 0_i64);
        let mut up = vector.updates(|element, ()| *element += 1);
        let mut down = vector.updates(|element, ()| *element -= 1);
        for number in 0..100_000 {
            up.push(number % 10, ());
            down.push(number % 10, ());
        }
        up.finish();
        down.finish();
        assert_eq!(vector.to_vec(), [0; 10]);
    });
}

#[test]
fn work_that_follows_is_marked_where_it_is() {
    in_runtime(1, || search(500));
    in_runtime(4, || search(500));
    on_nodes(2, 2, || search(200));
}

/// A breadth-first search in a graph that is random, but the same each time: rounds of fibers on all workers.
#[gossamer::delegate]
fn search(vertices: usize) {
    let rows = |vertex: usize| {
        (1..4).map(move |edge| (vertex * 31 + edge * edge * 17 + vertex * vertex * edge) % vertices)
    };
    let mut expected = vec![u32::MAX; vertices];
    let (mut front, mut round) = (vec![0], 0);
    expected[0] = 0;
    while !front.is_empty() {
        round += 1;
        let reached: Vec<_> = front.into_iter().flat_map(rows).collect();
        front = Vec::new();
        for vertex in reached {
            if expected[vertex] == u32::MAX {
                expected[vertex] = round;
                front.push(vertex);
            }
        }
    }

    for layout in [Layout::block(vertices), Layout::cyclic(vertices)] {
        let distances = DistVec::filled(layout, u32::MAX);
        let mut start =
            distances.updates_marking(|distance, round: u32| std::mem::replace(distance, round) == u32::MAX);
        start.push(0, 0);
        start.finish();
        let mut round = 0;
        while distances.marked() > 0 {
            round += 1;
            let fronts = distances.map_all(|distances| distances.take_marked());
            let mut fibers = Vec::new();
            for (trustee, front) in distances.trustees().into_iter().zip(fronts) {
                let distances = distances.clone();
                fibers.push(spawn_on(trustee, move || {
                    let mut reached = distances.updates_marking(|distance, ()| {
                        std::mem::replace(distance, round.min(*distance)) == u32::MAX
                    });
                    for vertex in front {
                        let edges = (1..4)
                            .map(|edge| (vertex * 31 + edge * edge * 17 + vertex * vertex * edge) % vertices);
                        edges.for_each(|next| reached.push(next, ()));
                    }
                    reached.finish();
                }));
            }
            fibers.into_iter().for_each(|fiber| fiber.join());
        }
        assert_eq!(distances.to_vec(), expected);
    }
}

#[test]
fn updates_that_are_combined_or_sent_once_add_up_to_the_same() {
    in_runtime(1, || combine(20_000));
    in_runtime(3, || combine(20_000));
    on_nodes(2, 2, || combine(2000));
}

#[gossamer::delegate]
fn combine(pushes: usize) {
    for (layout, seed) in layouts(500).into_iter().zip(0..) {
        let mut random = fastrand::Rng::with_seed(seed);
        let sums = DistVec::filled(layout.clone(), (0_u64, 0_u64));
        let firsts = DistVec::filled(layout, (0_u64, usize::MAX));
        let mut expected = vec![(0, usize::MAX); 500];
        let mut adding = sums.updates(|(served, sum), by: u64| {
            *served += 1;
            *sum += by;
        });
        let mut first = firsts.updates(|first, number: usize| *first = (first.0 + 1, number));
        for number in 0..pushes {
            // Some are used much more often than others.
            let most = random.usize(1..=500);
            let index = random.usize(..most);
            adding.combine(index, number as u64, |one, other| one + other);
            first.once(index, number);
            expected[index] = (expected[index].0 + number as u64, expected[index].1.min(number));
        }
        adding.finish();
        first.finish();
        let mut all = 0;
        let found = sums.to_vec().into_iter().zip(firsts.to_vec());
        for (index, (((served, sum), (count, first)), expected)) in found.zip(expected).enumerate() {
            assert_eq!((sum, first), expected, "element {index}");
            assert_eq!(count, u64::from(first != usize::MAX), "the first only");
            all += served;
        }
        assert!(all < pushes as u64 / 2, "{all} updates were served");
    }
}

#[test]
fn a_panic_while_two_are_combined_loses_these_alone() {
    in_runtime(2, || {
        let tally = Tally::new();
        let vector = DistVec::filled(10, 0_u64);
        let mut updates = vector.updates(|count, value: integration_tests::Counted| {
            drop(value);
            *count += 1;
        });
        for index in 0..10 {
            updates.combine(index, tally.value(), |_, _| unreachable!("each is the first"));
        }
        let text = panic_text(|| updates.combine(3, tally.value(), |_, _| panic!("these do not add up")));
        assert!(text.contains("these do not add up"), "{text}");
        updates.combine(9, tally.value(), |one, _| one);
        updates.finish();
        assert_eq!(vector.to_vec(), [1, 1, 1, 0, 1, 1, 1, 1, 1, 1]);
        wait_until(|| tally.is_even());
    });
}

#[test]
fn a_panic_while_two_are_combined_leaves_the_others_in_their_order() {
    in_runtime(1, || {
        // The first of a batch, and the last one.
        for index in [0, 2] {
            let lists = DistVec::from_fn(3, |_| Vec::<u64>::new());
            let mut updates = lists.updates(|list, number: u64| list.push(number));
            updates.combine(0, 7, |one, _| one);
            (0..5).for_each(|number| updates.push(1, number));
            updates.combine(2, 7, |one, _| one);
            let text = panic_text(|| updates.combine(index, 1, |_, _| panic!("these do not add up")));
            assert!(text.contains("these do not add up"), "{text}");
            updates.finish();
            let mut expected = vec![vec![7], vec![0, 1, 2, 3, 4], vec![7]];
            expected[index].clear();
            assert_eq!(lists.to_vec(), expected);
        }
    });
}

#[test]
fn what_is_pushed_where_nobody_can_wait_is_served_though_the_push_that_would_have_to_panics() {
    in_runtime(2, || {
        let there = Trustee::all()[1];
        let counts = DistVec::filled(Layout::block(10).on(&[there]), 0_u64);
        let push = const {
            |(): &mut (), counts: DistVec<u64>| {
                let mut updates = counts.updates(const { |count: &mut u64, by| *count += by });
                let mut push =
                    |number: usize| catch_unwind(AssertUnwindSafe(|| updates.push(number % 10, 1))).is_ok();
                let pushed = (0..1_000_000).take_while(|number| push(*number)).count();
                let panicked = (0..50).filter(|number| !push(*number)).count();
                (pushed as u64 + 1 + 50, panicked)
            }
        };
        let (pushed, panicked) = gossamer::entrust(()).apply_with(push, counts.clone());
        assert!(panicked > 0, "there was room for all");
        wait_until(|| counts.to_vec().into_iter().sum::<u64>() == pushed);
    });
}
