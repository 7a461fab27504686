//! Loops over numbers and over elements, on all workers.

use crate::layouts;
use gossamer::collections::{self, DistVec, Layout};
use gossamer::{Trustee, entrust};
use integration_tests::{in_runtime, on_nodes, panic_text};
use std::cell::Cell;
use std::rc::Rc;

#[test]
fn each_number_of_a_range_is_called_once() {
    in_runtime(1, || count_numbers(10_000));
    in_runtime(4, || count_numbers(2000));
    on_nodes(2, 2, || count_numbers(2000));
}

#[gossamer::delegate]
fn count_numbers(most: usize) {
    for range in [0..most, 0..0, 7..8, 3..most / 3] {
        let counts = DistVec::filled(Layout::cyclic(most), 0_u64);
        let (there, by) = (counts.clone(), 2);
        collections::par_for_each(range.clone(), move |number| there.update(number, |count| *count += by));
        let expected = (0..most).map(|number| if range.contains(&number) { 2 } else { 0 });
        assert!(counts.to_vec().into_iter().eq(expected), "{range:?}");
    }
}

#[test]
fn few_numbers_have_a_worker_each_the_first_that_of_the_caller() {
    in_runtime(4, place);
    on_nodes(2, 2, place);
}

#[gossamer::delegate]
fn place() {
    for caller in Trustee::all() {
        gossamer::spawn_on(caller, move || {
            for count in 1..=4 {
                let places = DistVec::filled(count, None);
                let there = places.clone();
                collections::par_for_each(0..count, move |number| {
                    let here = Trustee::here();
                    there.set(number, Some(here));
                });
                let mut places: Vec<_> = places.to_vec().into_iter().flatten().collect();
                assert!(count == 4 || places[0] == caller, "{places:?}");
                places.sort_by_key(Trustee::index);
                places.dedup();
                assert_eq!(places.len(), count);
            }
        })
        .join();
    }
}

#[test]
fn a_loop_without_captures_needs_no_macro() {
    in_runtime(2, || {
        collections::par_for_each(0..100, |number| assert!(number < 100));
        let count = entrust(0_usize);
        let body = |number: usize, count: &gossamer::Trust<usize>| {
            count.apply_with(|count, by| *count += by, number)
        };
        collections::par_for_each_with(0..100, body, count.clone());
        assert_eq!(count.apply(|count| *count), 4950);
    });
}

#[test]
fn all_workers_take_part_and_uneven_work_is_shared_out() {
    in_runtime(2, share_out);
}

#[gossamer::delegate]
fn share_out() {
    let done = DistVec::filled(Trustee::all().len(), 0_u64);
    let there = done.clone();
    // The first number takes until all others are done elsewhere: with equal shares it would wait for numbers of its
    // own share.
    collections::par_for_each(0..1000, move |number| {
        let here = Trustee::here().index();
        there.update(here, |done| *done += 1);
        while number == 0 && there.to_vec().into_iter().sum::<u64>() < 700 {
            gossamer::yield_now();
        }
    });
    let done = done.to_vec();
    assert_eq!(done.iter().sum::<u64>(), 1000);
    assert!(done.iter().all(|done| *done > 0), "{done:?}");
}

#[test]
fn a_panic_in_one_iteration_ends_the_loop_with_its_number() {
    in_runtime(2, || {
        let text = panic_text(|| {
            collections::par_for_each(0..1_000_000, |number| {
                assert!(number != 54_321, "not this one");
                gossamer::yield_now();
            });
        });
        let expected = ["iteration 54321: not this one", "loops.rs"];
        assert!(expected.iter().all(|part| text.contains(part)), "{text}");
        // All go on.
        collections::par_for_each(0..10, |_| ());
    });
}

#[test]
fn each_element_is_visited_once_where_it_is() {
    in_runtime(1, visit);
    in_runtime(3, visit);
    on_nodes(2, 2, visit);
}

#[gossamer::delegate]
fn visit() {
    for layout in [0, 1, 10, 20_000].into_iter().flat_map(layouts) {
        let vector = DistVec::from_fn(layout, |index| vec![index]);
        let by = 3;
        for _ in 0..2 {
            vector.par_for_each(|index, element| element.push(index * by));
        }
        let expected = (0..vector.len()).map(|index| vec![index, 3 * index, 3 * index]);
        assert!(vector.to_vec().into_iter().eq(expected), "{vector:?}");
    }
}

#[test]
fn a_loop_goes_on_where_its_last_turn_ended_however_many_elements_are_before() {
    in_runtime(1, || {
        let vector = DistVec::filled(3_000_000, 0_u8);
        vector.par_for_each(|_, element| *element += 1);
        assert_eq!(vector.par_fold(0, |sum, _, element| sum + usize::from(*element)), [3_000_000]);
    });
}

#[test]
fn a_loop_over_elements_lets_others_use_them() {
    in_runtime(2, || {
        // A turn of the loop, then an update, and so on: the loop ends once it has seen the update.
        let vector = DistVec::filled(Layout::block(2).on(&Trustee::all()[1..]), 0_u64);
        let there = vector.clone();
        let setter = gossamer::spawn_local(move || there.set(1, 7));
        for _ in 0..1_000 {
            vector.par_for_each(|index, element| *element += (index == 0) as u64);
        }
        setter.join();
        assert_eq!(vector.to_vec(), [1000, 7]);
    });
}

#[test]
fn a_long_lookup_lets_other_fibers_of_its_worker_go_on() {
    in_runtime(1, || {
        let (vector, came) = (DistVec::from_fn(10, |index| index), Rc::new(Cell::new(false)));
        let there = came.clone();
        let other = gossamer::spawn_local(move || there.set(true));
        // Ends once the other fiber has had a turn: all elements are at hand, so nothing else waits.
        let found = vector.gather(std::iter::from_fn(|| (!came.get()).then_some(7)));
        assert!(!found.is_empty() && found.iter().all(|found| *found == 7));
        other.join();
    });
}

#[test]
fn a_panic_at_one_element_ends_the_loop_with_its_index() {
    on_nodes(2, 2, || {
        let vector = DistVec::filled(Layout::cyclic(1000), 0_u64);
        let text = panic_text(|| {
            vector.par_for_each(
                const {
                    |index, element: &mut u64| {
                        *element += 1;
                        assert!(index != 555, "not this one");
                    }
                },
            );
        });
        let expected = ["element 555: not this one", "loops.rs"];
        assert!(expected.iter().all(|part| text.contains(part)), "{text}");
        let visited = vector.to_vec();
        assert!(visited.iter().all(|count| *count < 2) && visited[555] == 1);
    });
}
