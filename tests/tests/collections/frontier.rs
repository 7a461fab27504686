//! Searches of graphs in rounds, compared with searches by one thread.

use crate::layouts;
use fastrand::Rng;
use gossamer::Trustee;
use gossamer::collections::{DistVec, Frontier, Layout, Marker, Outgoing};
use integration_tests::{in_runtime, on_nodes, panic_text};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

const NONE: u32 = u32::MAX;
const FAR: u64 = u64::MAX;

/// Some edges of each vertex, with their lengths, and one vertex with an edge to every other; if there are many
/// vertices, these are more than a batch has.
fn graph(vertices: usize, seed: u64) -> Vec<Vec<(u32, u64)>> {
    let mut random = Rng::with_seed(seed);
    let mut rows: Vec<Vec<_>> = (0..vertices)
        .map(|_| {
            (0..random.usize(..5)).map(|_| (random.u32(..vertices as u32), random.u64(1..100))).collect()
        })
        .collect();
    rows[vertices / 2] = (0..vertices as u32).map(|vertex| (vertex, random.u64(50..1000))).collect();
    rows
}

/// How many edges away each vertex is.
fn levels(rows: &[Vec<(u32, u64)>], root: usize) -> Vec<u32> {
    let mut levels = vec![NONE; rows.len()];
    levels[root] = 0;
    let mut queue = VecDeque::from([root]);
    while let Some(vertex) = queue.pop_front() {
        for (next, _) in &rows[vertex] {
            if levels[*next as usize] == NONE {
                levels[*next as usize] = levels[vertex] + 1;
                queue.push_back(*next as usize);
            }
        }
    }
    levels
}

/// Dijkstra's algorithm.
fn distances(rows: &[Vec<(u32, u64)>], root: usize) -> Vec<u64> {
    let mut distances = vec![FAR; rows.len()];
    distances[root] = 0;
    let mut queue = BinaryHeap::from([Reverse((0, root))]);
    while let Some(Reverse((distance, vertex))) = queue.pop() {
        let row = if distance == distances[vertex] { &rows[vertex][..] } else { &[] };
        for (next, length) in row {
            let (next, new) = (*next as usize, distance + length);
            if new < distances[next] {
                distances[next] = new;
                queue.push(Reverse((new, next)));
            }
        }
    }
    distances
}

#[gossamer::delegate]
fn parents_found(graph: &DistVec<Vec<(u32, u64)>>, layout: Layout, root: usize) -> Vec<u32> {
    let parents = DistVec::filled(layout, NONE);
    parents.set(root, root as u32);
    let mut front = Frontier::of(&parents);
    front.mark(root);
    while front.swap() > 0 {
        front
            .par_for_each(graph, |u, _, row, out| {
                row.iter().for_each(|(v, _)| out.once(*v as usize, u as u32))
            })
            .apply(|parent, u, next| {
                if *parent == NONE {
                    *parent = u;
                    next.mark();
                }
            });
    }
    parents.to_vec()
}

#[gossamer::delegate]
fn distances_found(
    graph: &DistVec<Vec<(u32, u64)>>,
    layout: Layout,
    root: usize,
    delta: u64,
    sends_least: bool,
) -> Vec<u64> {
    let distances = DistVec::filled(layout, FAR);
    distances.set(root, 0);
    let mut front = Frontier::of(&distances);
    front.mark(root);
    let mut last = 0;
    while front.swap() > 0 {
        assert!(front.priority() >= last, "buckets come in their order");
        last = front.priority();
        let bucket = front.priority() as u64;
        front
            .par_for_each(graph, move |_, distance, row, out| {
                assert!(*distance / delta <= bucket, "none is in a bucket that is done");
                // A vertex that was found nearer meanwhile has had its turn.
                let row = if *distance / delta < bucket { &[] } else { &row[..] };
                for (v, length) in row {
                    match sends_least {
                        true => out.least(*v as usize, distance + length),
                        false => out.combine(*v as usize, distance + length, u64::min),
                    }
                }
            })
            .apply(|distance, new, next| {
                if new < *distance {
                    *distance = new;
                    next.mark_at((new / delta) as usize);
                }
            });
    }
    distances.to_vec()
}

fn search(vertices: usize, seed: u64) {
    let rows = graph(vertices, seed);
    for (layout, root) in layouts(vertices).into_iter().zip([0, vertices - 1, vertices / 2, vertices / 3, 1])
    {
        let graph = DistVec::from_vec(layout.clone(), rows.clone());
        let (parents, levels) = (parents_found(&graph, layout.clone(), root), levels(&rows, root));
        for (vertex, parent) in parents.iter().enumerate() {
            assert_eq!(*parent == NONE, levels[vertex] == NONE, "vertex {vertex} of {graph:?}");
            if *parent != NONE && vertex != root {
                assert_eq!(levels[*parent as usize] + 1, levels[vertex], "vertex {vertex} of {graph:?}");
                assert!(rows[*parent as usize].iter().any(|(next, _)| *next as usize == vertex));
            }
        }
        for (delta, sends_least) in [(40, false), (80, true), (u64::MAX, true)] {
            let found = distances_found(&graph, layout.clone(), root, delta, sends_least);
            assert!(found == distances(&rows, root), "from {root} by {delta} of {graph:?}");
        }
    }
}

#[test]
fn a_search_on_one_worker_finds_what_is_near() {
    in_runtime(1, || search(1000, 1));
}

#[test]
fn a_search_on_two_workers_finds_what_is_near() {
    in_runtime(2, || [2, 300].into_iter().for_each(|vertices| search(vertices, 2)));
    in_runtime(2, || search(10_000, 3));
}

#[test]
fn a_search_on_four_workers_finds_what_is_near() {
    in_runtime(4, || search(2000, 4));
}

#[test]
fn a_search_on_two_nodes_finds_what_is_near() {
    on_nodes(2, 1, || search(200, 5));
}

#[test]
fn an_element_that_is_marked_often_is_visited_once() {
    on_nodes(2, 1, || {
        let (visits, rows) = (DistVec::filled(100, 0_u64), DistVec::filled(100, ()));
        let mut front = Frontier::of(&visits);
        for index in [7, 99, 7, 7] {
            front.mark(index);
        }
        front.mark_at(50, 3);
        assert_eq!((front.swap(), front.priority()), (2, 0));
        front
            .par_for_each(
                &rows,
                const { |u, _: &u64, (): &(), out: &mut gossamer::collections::Outgoing<u64>| out.push(u, 1) },
            )
            .apply(const { |visits: &mut u64, by: u64, _: &mut gossamer::collections::Marker<'_>| *visits += by });
        assert_eq!((visits.get(7), visits.get(99), visits.get(50)), (1, 1, 0));
        assert_eq!((front.swap(), front.priority()), (1, 3));
        assert_eq!(front.swap(), 0);
        // A new frontier has forgotten what was marked in the old one.
        front.mark(3);
        assert_eq!(Frontier::of(&visits).swap(), 0);
    });
}

#[test]
fn elements_are_marked_by_what_they_are() {
    on_nodes(2, 2, || {
        for layout in [Layout::from(1000), Layout::cyclic(1000), Layout::from(1)] {
            marks_found(&DistVec::from_fn(layout, const { |index| index as u64 }));
        }
    });
}

#[gossamer::delegate]
fn marks_found(numbers: &DistVec<u64>) {
    let rows = numbers.par_map(|_, _| ());
    let mut front = Frontier::of(numbers);
    let divisor = std::hint::black_box(7);
    front.mark_where(|index, number| *number == index as u64 && number % divisor == 0);
    front.mark(0);
    let expected = numbers.len().div_ceil(7);
    assert_eq!((front.swap(), front.priority()), (expected, 0), "each is marked, once");
    front.par_for_each(&rows, |at, _, (), out| out.push(at, ())).apply(|number, (), _| *number += 1000);
    let visited = |(at, number): (usize, u64)| number == at as u64 + if at % 7 == 0 { 1000 } else { 0 };
    assert!(numbers.to_vec().into_iter().enumerate().all(visited), "those that are marked are visited");

    let len = numbers.len() as u64;
    let text = panic_text(|| front.mark_where(|_, number| 60 / number.saturating_sub(999 + len) > 7));
    let named = ["element 0", "divide by zero", "frontier.rs"];
    assert!(named.iter().all(|part| text.contains(part)), "{text}");
}

#[test]
fn a_panic_in_a_round_names_the_element_and_the_round_ends() {
    on_nodes(2, 1, panic_in_rounds);
}

#[gossamer::delegate]
fn panic_in_rounds() {
    let (visits, rows) =
        (DistVec::filled(Layout::cyclic(100), 0_u64), DistVec::filled(Layout::cyclic(100), ()));
    let mut front = Frontier::of(&visits);
    (0..100).for_each(|index| front.mark(index));
    front.swap();
    let text = panic_text(|| {
        let round = front.par_for_each(&rows, |u, _, (), out| {
            assert!(u != 55, "not from here");
            out.push(u, 1);
        });
        round.apply(|visits, by: u64, _| *visits += by);
    });
    assert!(["element 55: not from here", "frontier.rs"].iter().all(|part| text.contains(part)), "{text}");
    let visited = visits.to_vec();
    assert!(visited.iter().all(|visits| *visits < 2) && visited[55] == 0);

    (0..100).for_each(|index| front.mark(index));
    front.swap();
    let text = panic_text(|| {
        front.par_for_each(&rows, |u, _, (), out| out.push((u + 1) % 100, 1)).apply(|visits, by: u64, _| {
            *visits += 100 * by;
            assert!(*visits != 100, "not here");
        });
    });
    assert!(["element 55: not here", "frontier.rs"].iter().all(|part| text.contains(part)), "{text}");
    assert!(visits.to_vec().into_iter().all(|visits| visits >= 100), "all others were visited");
}

#[test]
fn the_least_that_follow_from_elements_before_a_panic_are_sent() {
    in_runtime(1, || {
        // One more than 64, which wait until they are compared, and less than a batch.
        let (least, rows) = (DistVec::filled(100, 9_u64), DistVec::filled(100, ()));
        let mut front = Frontier::of(&least);
        (0..100).for_each(|index| front.mark(index));
        front.swap();
        let text = panic_text(|| {
            let round = front.par_for_each(&rows, |u, _, (), out| {
                assert!(u != 65, "not from here");
                [7, 3, 5].into_iter().for_each(|number| out.least(u, number));
            });
            round.apply(|least, number: u64, _| *least = number);
        });
        assert!(text.contains("element 65: not from here"), "{text}");
        assert_eq!(least.to_vec(), [[3; 65].as_slice(), &[9; 35]].concat());
    });
}

#[test]
fn what_was_sent_once_is_not_sent_again_after_a_round_that_has_panicked() {
    in_runtime(1, || {
        let (visits, rows) = (DistVec::filled(4, [0_u32; 2]), DistVec::filled(4, ()));
        let mut front = Frontier::of(&visits);
        for round in 0..4 {
            front.mark(round);
            front.swap();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                let round = front.par_for_each(&rows, |u, _, (), out| {
                    out.once(3, [1, 0]);
                    out.least(2, [0, 1]);
                    assert!(u != 1, "not from here");
                });
                round.apply(|visits, [one, other]: [u32; 2], _| {
                    *visits = [visits[0] + one, visits[1] + other];
                });
            }));
            assert_eq!(outcome.is_err(), round == 1);
        }
        assert_eq!(visits.to_vec(), [[0, 0], [0, 0], [0, 1], [1, 0]]);
    });
}

#[test]
fn many_updates_that_follow_from_one_element_are_applied_in_their_order() {
    in_runtime(2, || {
        let (last, rows) = (DistVec::filled(2, 0_u64), DistVec::filled(2, ()));
        let mut front = Frontier::of(&last);
        front.mark(0);
        front.swap();
        // More than two batches for each worker.
        let sent = front
            .par_for_each(&rows, |_, _, (), out| {
                (0..20_000).for_each(|number| out.push(number % 2, number as u64))
            })
            .apply(|last, by: u64, _| *last = by);
        assert_eq!((sent, last.to_vec()), (20_000, vec![19_998, 19_999]));
    });
}

#[test]
fn rows_of_another_layout_are_refused() {
    in_runtime(2, || {
        let (numbers, rows) = (DistVec::filled(10, 0), DistVec::filled(Layout::cyclic(10), ()));
        let front = Frontier::of(&numbers);
        let text = panic_text(|| {
            front
                .par_for_each(&rows, |_, _, (), _: &mut gossamer::collections::Outgoing<()>| ())
                .apply(|_, (), _| ());
        });
        assert!(text.contains("in blocks of 5") && text.contains("in turn"), "{text}");
    });
}

#[test]
fn a_round_says_how_many_updates_were_sent() {
    on_nodes(2, 2, || {
        let (vertices, rows) = (DistVec::filled(20_000, false), DistVec::filled(20_000, ()));
        let mut front = Frontier::of(&vertices);
        [3, 19_999].into_iter().for_each(|vertex| front.mark(vertex));
        front.swap();
        // Both have edges to all vertices: more than a batch has.
        let all = const {
            |_, _: &bool, (): &(), out: &mut Outgoing<()>| (0..20_000).for_each(|vertex| out.push(vertex, ()))
        };
        let mark = const { |_: &mut bool, (), next: &mut Marker<'_>| next.mark() };
        assert_eq!(front.par_for_each(&rows, all).apply(mark), 40_000);
        assert_eq!(front.swap(), 20_000);
        // Each worker informs only the first of its own vertices.
        let first = const { |_, _: &bool, (): &(), out: &mut Outgoing<()>| out.once(0, ()) };
        assert_eq!(front.par_for_each(&rows, first).apply(mark), 4);
        front.swap();
        assert_eq!(front.par_for_each(&rows, first).apply(mark), 0);
    });
}

#[test]
fn a_front_stays_until_the_next_round_begins() {
    in_runtime(2, || twice_over_a_front());
    on_nodes(2, 1, || twice_over_a_front());
}

#[gossamer::delegate]
fn twice_over_a_front() {
    /// A handle needs no elements that can be cloned.
    struct Seen(u32);
    let rows = DistVec::filled(100, 0_u8);
    let seen = DistVec::from_fn(100, |_| Seen(0));
    let mut front = Frontier::of(&seen);
    [3, 99].into_iter().for_each(|index| front.mark(index));
    assert_eq!(front.swap(), 2);
    for _ in 0..2 {
        let sent =
            front.par_for_each(&rows, |index, _, _, out| out.push(99 - index, ())).apply(|seen, (), next| {
                seen.0 += 1;
                next.mark();
            });
        assert_eq!(sent, 2);
    }
    let mut other = front.clone();
    let left = gossamer::spawn_on(Trustee::all()[1], move || other.swap()).join();
    assert_eq!(left, 2, "elements are marked twice, and visited once");
    let counts = seen.map_all(|seen| seen.iter().map(|seen| seen.0).collect::<Vec<_>>()).concat();
    assert!(counts.iter().enumerate().all(|(at, count)| *count == 2 * u32::from(at == 0 || at == 96)));
    assert_eq!(front.swap(), 0);
    let sent = front.par_for_each(&rows, |index, _, _, out| out.push(index, ())).apply(|_, (), _| ());
    assert_eq!(sent, 0, "the front is empty");
}
