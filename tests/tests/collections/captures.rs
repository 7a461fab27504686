//! What the closures of loops capture: each worker has it once, and all calls there borrow it.

use gossamer::NoRef;
use gossamer::collections::{self, DistMap, DistQueue, DistVec, Frontier, IndexRange};
use integration_tests::{in_runtime, isolated, on_nodes, panic_text};
use std::sync::atomic::{AtomicUsize, Ordering};

/// As many as take longer than a turn of 100 us where each is spun at.
const MANY: usize = 4000;

static CLONES: AtomicUsize = AtomicUsize::new(0);

/// Counts its clones.
#[derive(NoRef)]
struct Counted(u64);

impl Clone for Counted {
    fn clone(&self) -> Self {
        CLONES.fetch_add(1, Ordering::Relaxed);
        Self(self.0)
    }
}

/// Takes a microsecond or so.
fn spin() {
    (0..300).for_each(|round| _ = std::hint::black_box(round));
}

/// Runs something that loops over `MANY` elements, with something to capture.
fn clones_of(run: impl FnOnce(Counted)) {
    let before = CLONES.load(Ordering::Relaxed);
    run(Counted(3));
    let clones = CLONES.load(Ordering::Relaxed) - before;
    // Some for each worker, each batch of updates, and each round of a sort.
    assert!(clones < MANY / 10, "{clones} clones");
}

#[test]
fn updates_of_the_own_worker_share_one_value_of_what_their_closure_captures() {
    isolated(|| in_runtime(1, update_own));
}

#[gossamer::delegate]
fn update_own() {
    let (numbers, by) = (DistVec::filled(MANY, 0_u64), Counted(3));
    let mut updates = numbers.updates(move |number, more: u64| *number += more * by.0);
    (0..100 * MANY).for_each(|index| updates.push(index % MANY, 1));
    updates.finish();
    assert_eq!(numbers.to_vec(), [300; MANY]);
    assert!(CLONES.load(Ordering::Relaxed) < 5);
}

#[gossamer::delegate]
fn capture_in_loops() {
    let vector = || DistVec::from_fn(MANY, |index| index as u64);
    let expected = |by: u64| (0..MANY as u64).map(|number| number + by).sum::<u64>();
    let sum = |vector: &DistVec<u64>| vector.par_reduce(|one, other| one + other).unwrap_or_default();
    clones_of(|by| {
        let (numbers, there) = (vector(), vector());
        let counts = numbers.clone();
        collections::par_for_each(0..100, move |number| counts.update(number, |count| *count += 1));
        IndexRange::from(0..MANY).par_for_each(move |number| {
            spin();
            assert_eq!(by.0, 3, "{number}");
        });
        assert_eq!(sum(&numbers), sum(&there) + 100);
    });
    clones_of(|by| {
        let numbers = vector();
        numbers.par_for_each(move |_, number| {
            spin();
            *number += by.0;
        });
        assert_eq!(sum(&numbers), expected(3));
    });
    clones_of(|by| assert_eq!(sum(&vector().par_map(move |_, number| number + by.0)), expected(3)));
    clones_of(|by| {
        let sums = vector().par_fold(0, move |sum, _, number| sum + number + by.0);
        assert_eq!(sums.into_iter().sum::<u64>(), expected(3));
    });
    clones_of(|by| {
        let numbers = vector();
        numbers.par_sort_by_key(move |number| by.0.wrapping_sub(*number));
        assert_eq!((numbers.get(0), sum(&numbers)), (3, expected(0)));
    });
    clones_of(|by| assert_eq!(DistVec::from_fn(MANY, move |_| by.0).to_vec(), vec![3; MANY]));
    clones_of(|by| {
        let (queue, seen) = (DistQueue::new(), gossamer::collections::DistCounter::new());
        queue.extend(0..MANY as u64);
        let there = seen.clone();
        queue.par_for_each(move |_, _| there.add(by.0));
        assert_eq!(seen.sum(), 3 * MANY as u64);
    });
}

#[gossamer::delegate]
fn capture_in_batches() {
    clones_of(|by| {
        let numbers = DistVec::filled(MANY, 0_u64);
        let mut updates = numbers.updates(move |number, more: u64| *number += more * by.0);
        (0..MANY).for_each(|index| updates.push(index, 2));
        updates.finish();
        assert_eq!(numbers.to_vec(), vec![6; MANY]);
    });
    clones_of(|by| {
        let numbers = DistMap::new();
        let mut merges = numbers.merges(move |number: &mut u64, more| *number = (*number + more).max(by.0));
        (0..MANY).for_each(|index| merges.push(index % 7, 1));
        merges.finish();
        assert_eq!(numbers.len(), 7);
    });
    clones_of(|by| {
        let rows = DistVec::from_fn(MANY, |index| vec![(index + 1) % MANY]);
        let numbers = DistVec::filled(MANY, 0_u64);
        let mut front = Frontier::of(&numbers);
        front.mark_where(|_, _| true);
        front.swap();
        let more = by.clone();
        front
            .par_for_each(&rows, move |_, _, row: &Vec<usize>, out| out.push(row[0], by.0))
            .apply(move |number, argument, _| *number += argument * more.0);
        assert_eq!(numbers.to_vec(), vec![9; MANY]);
    });
}

#[gossamer::delegate]
fn capture_in_loops_over_maps() {
    let map = DistMap::new();
    (0..MANY as u64).for_each(|key| _ = map.insert(key, 1_u64));
    let sum = || map.par_map_reduce(|_, value| *value, |one, other| one + other);
    clones_of(|by| {
        map.par_for_each(move |_, value| {
            spin();
            *value += by.0;
        });
    });
    assert_eq!(sum(), Some(4 * MANY as u64));
    clones_of(|by| assert_eq!(map.par_map(move |_, value| value * by.0).get(7), Some(12)));
    clones_of(|by| map.retain_with(|key, _, by: &Counted| key % by.0 == 0, by));
    assert_eq!(map.len(), MANY.div_ceil(3));
}

#[test]
fn what_a_loop_captures_is_cloned_for_each_worker_and_not_for_each_element() {
    let all = || {
        capture_in_loops();
        capture_in_batches();
        capture_in_loops_over_maps();
    };
    in_runtime(1, all);
    in_runtime(3, all);
    // The nodes of a test are threads of its process, whose clones count as well.
    on_nodes(2, 1, all);
}

#[gossamer::delegate]
fn panic_late() {
    let (numbers, last) = (DistVec::from_fn(MANY, |index| index), vec![MANY - 1]);
    let late = last.clone();
    let text = panic_text(|| {
        numbers.par_for_each(move |index, number| {
            spin();
            *number += 1;
            assert!(index != late[0], "the last one");
        });
    });
    assert!(text.contains(&format!("element {}: the last one", last[0])), "{text}");
    let changed = numbers.par_fold(0, |changed, index, number| changed + number - index);
    assert!((1..=MANY).contains(&changed.into_iter().sum()), "each at most once");
}

#[test]
fn a_panic_after_many_turns_names_its_element() {
    in_runtime(2, panic_late);
    on_nodes(2, 1, panic_late);
}

#[gossamer::delegate]
fn call_by_paths() {
    let more = 5;
    let numbers: DistVec<u64> = (0..9).collect();
    DistVec::update(&numbers, 3, |number| *number += more);
    assert_eq!(numbers.get(3), 8);
    DistVec::par_for_each(&numbers, |_, number| *number += more);
    let doubled = DistVec::<u64>::par_map(&numbers, |_, number| *number * more);
    assert_eq!(doubled.get(1), 30);
    let counts = DistMap::new();
    DistMap::update(&counts, 7, 0, |count| *count += more);
    assert_eq!(DistMap::get(&counts, 7), Some(5));
}

#[test]
fn methods_that_are_called_by_their_paths_capture() {
    on_nodes(2, 2, call_by_paths);
}
