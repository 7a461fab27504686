//! Making vectors, where their elements are, and sending handles.

use crate::layouts;
use gossamer::collections::{DistVec, Layout};
use gossamer::{Trustee, rack, spawn_on, spawn_on_with};
use integration_tests::{
    Tally, anonymous_bytes, in_runtime, isolated, on_nodes, panic_text, wait_until, workers,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

#[test]
fn elements_lie_where_the_layout_says() {
    in_runtime(3, || {
        let all = Trustee::all();
        let of = |layout| {
            let vector = DistVec::filled(layout, 0_u8);
            (0..vector.len()).map(|index| vector.trustee_of(index).index()).collect::<Vec<_>>()
        };
        assert_eq!(of(Layout::block(7)), [0, 0, 0, 1, 1, 1, 2]);
        assert_eq!(of(Layout::cyclic(7)), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(of(Layout::block(4).on(&[all[2], all[1]])), [2, 2, 1, 1]);
        assert_eq!(of(Layout::cyclic(4).on(&[all[2], all[1]])), [2, 1, 2, 1]);
        assert_eq!(of(Layout::block(3).on(&all[1..2])), [1, 1, 1]);
        assert!(panic_text(|| Layout::block(1).on(&[])).contains("on no workers"));
    });
}

#[test]
fn a_layout_of_more_elements_than_a_worker_can_have_says_so() {
    in_runtime(2, || {
        for layout in [Layout::block(usize::MAX), Layout::cyclic(usize::MAX), Layout::cyclic(usize::MAX - 1)]
        {
            let text = panic_text(|| drop(DistVec::filled(layout.clone(), ())));
            assert!(text.contains("elements on one worker: there may be"), "{text}");
        }
    });
}

#[test]
fn a_worker_that_makes_elements_serves_others_meanwhile() {
    static SERVED: AtomicBool = AtomicBool::new(false);
    in_runtime(2, || {
        let there = Trustee::all()[1];
        let seen = DistVec::from_fn(Layout::block(100_000).on(&[there]), |index| {
            if index == 0 {
                // It runs when this one lets it.
                drop(gossamer::spawn_on(Trustee::here(), || SERVED.store(true, Ordering::Relaxed)));
            }
            let (seen, begun) = (SERVED.load(Ordering::Relaxed), Instant::now());
            while !seen && begun.elapsed() < Duration::from_micros(20) {}
            seen
        });
        assert_eq!((seen.get(0), seen.get(99_999)), (false, true));
    });
}

#[test]
fn a_vector_is_made_of_indices_of_a_value_of_a_slice_and_of_an_iterator() {
    on_nodes(2, 2, make_vectors);
}

#[gossamer::delegate]
fn make_vectors() {
    let (by, text) = (3, String::from("n"));
    assert_eq!(DistVec::from_fn(5, |index| index * by).to_vec(), [0, 3, 6, 9, 12]);
    let texts = DistVec::from_fn(Layout::cyclic(3), |index| format!("{text}{index}"));
    assert_eq!(texts.to_vec(), ["n0", "n1", "n2"]);
    assert_eq!(DistVec::filled(3, "n".to_owned()).to_vec(), ["n", "n", "n"]);
    for layout in layouts(100) {
        assert!(DistVec::from_vec(layout, (0..100).collect()).to_vec().into_iter().eq(0..100));
    }
    assert_eq!(DistVec::from_slice(&[5, 6, 7]).to_vec(), [5, 6, 7]);
    assert_eq!(('a'..='e').collect::<DistVec<_>>().to_vec(), ['a', 'b', 'c', 'd', 'e']);
    for layout in layouts(0) {
        let empty = DistVec::<String>::from_vec(layout, Vec::new());
        assert!(empty.is_empty() && empty.to_vec().is_empty() && empty.gather([]).is_empty());
        empty.scatter([]);
    }
}

#[test]
fn elements_that_cannot_travel_are_changed_where_they_are() {
    in_runtime(2, || {
        let lists = DistVec::from_fn(4, |index| Rc::new(vec![index]));
        lists.update(3, |list| Rc::make_mut(list).push(7));
        assert_eq!(lists.map_all(|lists| lists.iter().map(|list| list.len()).sum::<usize>()), [2, 3]);
        assert!(format!("{lists:?}").ends_with("[[0], [1], [2], [3, 7]]"), "{lists:?}");
    });
}

#[test]
fn a_handle_is_used_wherever_it_is_sent() {
    on_nodes(2, 2, send_handles);
}

#[gossamer::delegate]
fn send_handles() {
    let vector = DistVec::filled(Layout::cyclic(40), 0_u64);
    let mut fibers = Vec::new();
    for (number, trustee) in Trustee::all().into_iter().enumerate() {
        let vector = vector.clone();
        fibers.push(spawn_on(trustee, move || {
            let mut updates = vector.updates(|element, by: u64| *element += by);
            (0..vector.len()).for_each(|index| updates.push(index, 1));
            updates.finish();
            vector.update(number, |element| *element += 100);
            vector.local(|elements| elements.len())
        }));
    }
    assert!(fibers.into_iter().all(|fiber| fiber.join() == Some(10)));
    let expected = (0..40).map(|index| if index < 4 { 104 } else { 4 });
    assert!(vector.to_vec().into_iter().eq(expected));
    // Inside a property, and inside another vector.
    let vectors = DistVec::filled(2, vector.clone());
    drop(vector);
    assert_eq!(vectors.update(1, |vector| vector.len()), 40);
    assert_eq!(vectors.get(1).get(0), 104);
}

#[test]
fn elements_are_dropped_with_the_last_handle() {
    on_nodes(2, 1, || {
        let tally = Tally::new();
        let all = Trustee::all();
        // Those on another node cannot be counted: such values stay on their node.
        let vector =
            DistVec::from_vec(Layout::block(10).on(&all[..1]), (0..10).map(|_| tally.value()).collect());
        let other = vector.clone();
        drop(vector);
        assert_eq!(
            other.map_all(const { |elements: &mut gossamer::collections::Elements<_>| elements.len() }),
            [10]
        );
        assert_eq!(tally.dropped(), 0);
        drop(other);
        wait_until(|| tally.is_even());
    });
}

#[test]
fn the_elements_at_hand_are_a_slice_and_the_closure_borrows() {
    in_runtime(2, || {
        let vector = DistVec::from_fn(Layout::cyclic(6), |index| index as u64);
        let mut seen = Vec::new();
        let len = vector.local(|elements| {
            elements.iter_mut().for_each(|element| *element += 10);
            seen.extend(elements.indexed().map(|(index, element)| (index, *element)));
            assert_eq!(
                (elements.offset_of(4), elements.offset_of(5), elements.index_of(2)),
                (Some(2), None, 4)
            );
            elements.len()
        });
        assert_eq!((len, seen), (Some(3), vec![(0, 10), (2, 12), (4, 14)]));
        let there = Trustee::all()[1];
        let last =
            spawn_on_with(there, |vector: DistVec<u64>| vector.local(|elements| elements[2]), vector.clone());
        let last = last.join();
        assert_eq!(last, Some(5));
        let elsewhere = DistVec::filled(Layout::block(3).on(&Trustee::all()[1..]), 0_u8);
        assert_eq!(elsewhere.local(|elements| elements.len()), None);
    });
}

#[test]
fn what_was_sent_before_is_seen_in_the_elements_at_hand() {
    in_runtime(2, || {
        let vector = DistVec::filled(4, 0_u64);
        vector.update_then(0, |element| *element += 1, drop);
        assert_eq!(vector.local(|elements| elements[0]), Some(1));
    });
}

#[test]
fn elements_are_read_and_written_without_waiting_in_the_order_of_the_calls() {
    on_nodes(2, 2, || {
        let vector = DistVec::from_fn(8, const { |index: usize| index as u64 });
        for index in 0..8 {
            let heard = Rc::new(RefCell::new(Vec::new()));
            let hear = || {
                let heard = heard.clone();
                move |value| heard.borrow_mut().push(value)
            };
            vector.get_then(index, hear());
            vector.replace_then(index, 10, hear());
            vector.set_then(index, 11, |()| ());
            vector.get_then(index, hear());
            let asked = [vector.get_async(index), vector.replace_async(index, 12), vector.get_async(index)];
            vector.set_async(index, 13).wait();
            assert_eq!(asked.map(|pending| pending.wait()), [11, 11, 12]);
            assert_eq!(*heard.borrow(), [index as u64, index as u64, 11]);
        }
        assert_eq!(vector.to_vec(), [13; 8]);
    });
}

#[test]
fn a_vector_is_printed_with_its_layout_and_first_elements() {
    in_runtime(2, || {
        let vector = DistVec::from_fn(20, |index| index);
        assert_eq!(
            format!("{vector:?}"),
            "DistVec(20 elements in blocks of 10 over 2 workers)[0, 1, 2, 3, 4, 5, 6, 7, ..]"
        );
        let vector = DistVec::from_slice(&["a".to_owned()]);
        assert_eq!(format!("{vector:?}"), "DistVec(1 elements in blocks of 1 over 2 workers)[\"a\"]");
        let vector = DistVec::filled(Layout::cyclic(3), 1.5);
        let property = gossamer::entrust(vector);
        let text = property.apply(|vector| format!("{vector:?}"));
        assert_eq!(text, "DistVec(3 elements in turn over 2 workers)", "where it cannot ask");
    });
}

#[test]
fn a_thread_that_is_no_worker_uses_a_vector() {
    in_runtime(2, || {
        let vector = DistVec::from_fn(10, |index| index as u64);
        let there = vector.clone();
        let thread = std::thread::spawn(move || {
            there.set(9, 90);
            let mut updates = there.updates(|element, by: u64| *element += by);
            (0..10).for_each(|index| updates.push(index, 1));
            updates.finish();
            (there.gather([9, 0]), there.range(1..3))
        });
        wait_until(|| thread.is_finished());
        assert_eq!(thread.join().unwrap(), (vec![91, 1], vec![2, 3]));
    });
}

#[test]
fn the_workers_of_a_node_are_a_layout() {
    on_nodes(2, 2, || {
        let second = rack::nodes()[1].workers();
        let vector = DistVec::filled(Layout::block(4).on(&second), 1_u8);
        assert_eq!(vector.trustees(), second);
        assert_eq!(vector.to_vec(), [1; 4]);
    });
}

#[test]
fn a_vector_takes_little_more_memory_than_its_elements() {
    isolated(|| {
        gossamer::run(workers(2), || {
            const ELEMENTS: usize = 10_000_000;
            let before = anonymous_bytes();
            let vector = DistVec::filled(ELEMENTS, 7_u64);
            let mut updates = vector.updates(|element, ()| *element += 1);
            (0..1_000_000).for_each(|number| updates.push(number * 7919 % ELEMENTS, ()));
            updates.finish();
            let (taken, needed) = (anonymous_bytes() - before, ELEMENTS * size_of::<u64>());
            assert!(taken > needed / 2 && taken < needed / 10 * 11, "{taken} bytes for {needed}");
            assert_eq!(vector.get(7919), 8);
        });
    });
}

#[test]
fn a_lookup_takes_memory_for_its_rounds_only_whatever_their_order() {
    isolated(|| {
        gossamer::run(workers(32), || {
            // Those of each worker are more than a round, one after another.
            const ELEMENTS: usize = 32 * 100_000;
            let vector = DistVec::filled(ELEMENTS, 7_u64);
            let mut found = vec![1; ELEMENTS];
            found.clear();
            let (mut before, mut taken) = (0, 0);
            let in_order = (0..ELEMENTS).inspect(|index| match *index {
                0 => before = anonymous_bytes(),
                index if index + 1 == ELEMENTS => taken = anonymous_bytes().saturating_sub(before),
                _ => {}
            });
            vector.gather_into(in_order, &mut found);
            assert!(found.len() == ELEMENTS && found.iter().all(|found| *found == 7));
            // 6 MB, and what each thread's allocator keeps. Lists of a round's length for each worker would be 84 MB.
            assert!(taken < 60 << 20, "{taken} bytes");
        });
    });
}
