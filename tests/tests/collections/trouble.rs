//! Indices out of range, closures that panic, closures that stay.

use gossamer::collections::{self, DistMap, DistVec, Frontier, Layout};
use gossamer::{Reason, entrust};
use integration_tests::{in_runtime, isolated, on_nodes, panic_text, workers};
use std::panic::{self, Location};
use std::sync::atomic::{AtomicU32, Ordering};

/// The panic of `body`, and the line where it was raised. Replaces the panic hook of the process.
fn panic_at(body: impl FnOnce()) -> (String, u32) {
    static LINE: AtomicU32 = AtomicU32::new(0);
    panic::set_hook(Box::new(|info| {
        LINE.store(info.location().map_or(0, Location::line), Ordering::SeqCst);
    }));
    (panic_text(body), LINE.load(Ordering::SeqCst))
}

#[test]
fn an_index_out_of_range_is_a_panic_of_the_caller() {
    in_runtime(2, || {
        let vector = DistVec::filled(10, 0_u64);
        let calls: [fn(&DistVec<u64>); 9] = [
            |vector| _ = vector.get(10),
            |vector| vector.set(10, 1),
            |vector| vector.update(10, |element| *element += 1),
            |vector| vector.update_unawaited(10, |element| *element += 1),
            |vector| vector.swap(3, 10),
            |vector| drop(vector.gather([0, 10, 1])),
            |vector| vector.scatter([(10, 1)]),
            |vector| vector.updates(|element, by: u64| *element += by).push(10, 1),
            |vector| _ = vector.trustee_of(10),
        ];
        for call in calls {
            let text = panic_text(|| call(&vector));
            assert_eq!(text, "index 10 is out of range of a `DistVec` with 10 elements");
        }
        let text = panic_text(|| vector.range(3..11));
        assert_eq!(text, "range 3..11 is out of range of a `DistVec` with 10 elements");
        let text = panic_text(|| vector.set_range(9, vec![1, 2]));
        assert_eq!(text, "range 9..11 is out of range of a `DistVec` with 10 elements");
        let text = panic_text(|| DistVec::from_vec(Layout::block(3), vec![1]));
        assert!(text.starts_with("a layout for 3 elements, where there are 1: it says where"), "{text}");
        let text = panic_text(|| drop(vector.with_layout(Layout::cyclic(3))));
        assert!(text.starts_with("a layout for 3 elements, where there are 10: it says where"), "{text}");
        assert_eq!(vector.to_vec(), [0; 10]);
    });
}

#[test]
fn a_panic_names_the_line_that_called() {
    let body = || {
        let vector = DistVec::filled(10, 0_u64);
        let (_, line) = panic_at(|| _ = vector.get(10));
        assert_eq!(line, line!() - 1);
        let (text, line) = panic_at(|| vector.update(9, |_| panic!("nine")));
        assert_eq!(line, line!() - 1);
        assert!(text.contains("nine") && text.contains(&format!("(sent from {}:{line}:", file!())), "{text}");
        let (text, line) = panic_at(|| drop(DistVec::from_fn(10, |index| 10 / (5 - index))));
        assert!(text.contains("divide by zero") && text.contains(&format!("{}:{line}:", file!())), "{text}");
        assert_eq!(line, line!() - 2);
    };
    isolated(move || gossamer::run(workers(2), body));
}

#[test]
fn a_panic_in_one_elements_closure_spares_the_others() {
    in_runtime(2, || {
        let vector = DistVec::from_fn(10, |index| index as u64);
        for index in 0..10 {
            let text = panic_text(|| vector.update(index, |element| *element = 100 / (*element - *element)));
            assert!(text.contains("divide by zero") && text.contains("trouble.rs"), "{text}");
        }
        assert!(vector.to_vec().into_iter().eq(0..10));
        let text =
            panic_text(|| vector.map_all(|elements| assert_ne!(elements.index_of(0), 5, "the second")));
        assert!(text.contains("the second"), "{text}");
        vector.update_then(3, |_| panic!("printed"), |()| unreachable!());
        assert_eq!(vector.get(3), 3);
    });
}

#[test]
fn a_panic_in_one_update_names_the_element_and_the_others_are_served() {
    on_nodes(2, 2, panics_in_updates);
}

#[gossamer::delegate]
fn panics_in_updates() {
    for layout in [Layout::block(1000), Layout::cyclic(1000)] {
        // One element of each worker; the first is served within the calls of this fiber.
        for failing in [20, 321, 522, 923] {
            let vector = DistVec::filled(layout.clone(), 0_u64);
            let mut updates = vector.updates(|element, by: u64| {
                assert!(by != 7, "seven");
                *element += by;
            });
            for index in 0..100_000 {
                updates.push(index % 1000, if index == 54_000 + failing { 7 } else { 1 });
            }
            let error = updates.try_finish().unwrap_err();
            assert!(matches!(error.reason(), Reason::Panicked { .. }));
            let text = error.to_string();
            assert!(
                text.contains(&format!("element {failing}: seven")) && text.contains("trouble.rs"),
                "{text}"
            );
            let expected = (0..1000).map(|index| if index == failing { 99 } else { 100 });
            assert!(vector.to_vec().into_iter().eq(expected));
        }
    }
}

#[test]
fn a_panic_while_an_element_is_copied_reaches_who_asked_for_it() {
    #[derive(gossamer::NoRef)]
    struct Fragile(u64);
    impl Clone for Fragile {
        fn clone(&self) -> Self {
            assert!(self.0 % 10 != 7, "{} broke", self.0);
            Self(self.0)
        }
    }
    in_runtime(2, || {
        let vector = DistVec::from_fn(Layout::block(1000), const { |index| Fragile(index as u64) });
        for index in [7, 507] {
            let text = panic_text(|| drop(vector.gather([1, index, 2, 999])));
            assert!(text.contains(&format!("{index} broke")) && text.contains("trouble.rs"), "{text}");
            let found: Vec<u64> =
                vector.gather([999, 0, 500, 998]).into_iter().map(|found| found.0).collect();
            assert_eq!(found, [999, 0, 500, 998]);
        }
    });
}

#[test]
fn a_vector_that_waits_where_nothing_can_says_so() {
    in_runtime(2, || {
        let property = entrust(DistVec::filled(10, 0_u64));
        let text = panic_text(|| property.apply(|vector| vector.get(9)));
        assert!(text.contains("inside a delegated closure"), "{text}");
        let text = panic_text(|| property.apply(|vector| vector.local(|elements| elements.len())));
        assert!(text.contains("inside a delegated closure"), "{text}");
    });
}

type Both = (DistVec<u64>, DistMap<usize, u64>);

static CALLS: AtomicU32 = AtomicU32::new(0);

/// They all wait.
const WAITING: [fn(&Both); 12] = [
    |(vector, _)| vector.par_for_each(|_, number| *number += 1),
    |(vector, _)| drop(vector.map_all(|numbers| numbers[0] += 1)),
    |(vector, _)| drop(vector.par_map(|_, _| _ = CALLS.fetch_add(1, Ordering::Relaxed))),
    |(vector, _)| vector.par_chunks(2, |_, some| some[0] += 1),
    |(vector, _)| vector.set_range(0, vec![1; 10]),
    |(vector, _)| vector.scatter((0..10).map(|index| (index, 1))),
    |(vector, _)| vector.par_sort_by(|_, _| panic!("compared")),
    |(vector, _)| Frontier::of(vector).mark_where(|_, _| true),
    |(_, map)| map.par_for_each(|_, number| *number += 1),
    |(_, map)| map.retain(|_, _| false),
    |(_, map)| map.clear(),
    |_| collections::par_for_each(0..10, |_| _ = CALLS.fetch_add(1, Ordering::Relaxed)),
];

#[test]
fn what_cannot_wait_where_it_is_called_does_nothing_before_it_says_so() {
    in_runtime(2, || {
        let map = DistMap::new();
        map.extend((0..10).map(|key| (key, 7)));
        let vector = DistVec::filled(10, 7);
        let property = entrust((vector.clone(), map.clone()));
        for call in 0..WAITING.len() {
            let text = panic_text(|| property.apply_with(|both, call| WAITING[call](both), call));
            assert!(text.contains("inside a delegated closure"), "{text}");
        }
        // Whatever was sent has been served then.
        gossamer::rack::wait_all();
        assert_eq!(vector.to_vec(), [7; 10]);
        let values: Vec<u64> = map.chunks().flatten().map(|(_, value)| value).collect();
        assert_eq!(values, [7; 10]);
        assert_eq!(CALLS.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_closure_that_is_no_constant_stays_in_its_node() {
    on_nodes(2, 1, || {
        let vector = DistVec::filled(2, 0_u64);
        vector.update(0, |element| *element += 1);
        let text = panic_text(|| vector.update(1, |element| *element += 1));
        assert!(text.contains("delegate"), "{text}");
        assert_eq!(vector.to_vec(), [1, 0]);
    });
}

#[test]
fn panics_whose_payload_panics_when_it_is_dropped_spare_the_others_too() {
    struct Spiteful;
    impl Drop for Spiteful {
        fn drop(&mut self) {
            panic!("and once more");
        }
    }
    in_runtime(2, || {
        let vector = DistVec::filled(100, 0_u64);
        let mut updates = vector.updates(|element, by: u64| {
            *element += by;
            if by == 2 {
                panic::panic_any(Spiteful);
            }
        });
        (0..1000).for_each(|number| updates.push(number % 100, 1 + number as u64 % 2));
        let text = updates.try_finish().unwrap_err().to_string();
        assert!(text.contains("a panic whose payload is not text"), "{text}");
        let expected = (0..100).map(|index| 10 * (1 + index % 2));
        assert!(vector.to_vec().into_iter().eq(expected));
    });
}

/// Calls for one element, which wait, and what errors call them.
const FOR_AN_ELEMENT: [(&str, fn(&DistVec<u64>, &DistMap<u64, u64>)); 10] = [
    ("get", |vector, _| _ = vector.get(0)),
    ("set", |vector, _| vector.set(0, 1)),
    ("replace", |vector, _| _ = vector.replace(0, 1)),
    ("update", |vector, _| vector.update(0, |number| *number += 1)),
    ("get", |_, map| _ = map.get(0)),
    ("contains_key", |_, map| _ = map.contains_key(0)),
    ("insert", |_, map| _ = map.insert(0, 1)),
    ("remove", |_, map| _ = map.remove(0)),
    ("update", |_, map| map.update(0, 0, |number| *number += 1)),
    ("apply", |_, map| _ = map.apply(0, |number| *number)),
];

#[test]
fn a_call_that_cannot_wait_says_which_one_need_not() {
    in_runtime(2, || {
        let both = entrust((DistVec::filled(4, 0_u64), DistMap::<u64, u64>::new()));
        for (index, (call, _)) in FOR_AN_ELEMENT.into_iter().enumerate() {
            let text = both.apply_with(
                |(vector, map), index: usize| panic_text(|| FOR_AN_ELEMENT[index].1(vector, map)),
                index,
            );
            assert!(text.contains(&format!("blocking `{call}` inside a delegated closure")), "{text}");
            assert!(text.contains(&format!("use `{call}_then`")), "{text}");
        }
        let text = both.apply_with(
            |(vector, _), ()| panic_text(|| [(0, 1), (0, 3)].map(|(a, b)| vector.swap(a, b))),
            (),
        );
        assert!(text.contains("blocking `swap` inside a delegated closure"), "{text}");
    });
}

#[test]
fn a_loop_changes_another_collection_by_requests_that_wait_all_waits_for() {
    #[gossamer::delegate]
    fn body() {
        let (numbers, counts) = (DistVec::from_fn(10_000, |index| index as u64), DistMap::new());
        let remainders = counts.clone();
        numbers.par_for_each(move |_, number| {
            remainders.update_then(*number % 7, 0_u64, |count| *count += 1, drop);
        });
        gossamer::rack::wait_all();
        let found: Vec<_> = (0..7).map(|remainder| counts.get(remainder)).collect();
        assert_eq!(found, [1429, 1429, 1429, 1429, 1428, 1428, 1428].map(Some));
    }
    on_nodes(2, 2, body);
}
