//! Loops that emit arguments for the elements of other collections, over vectors, maps and numbers.

use crate::layouts;
use gossamer::collections::{DistMap, DistVec, Emitted, IndexRange, Layout, par_emit};
use gossamer::{NoRef, Trustee, spawn_local, yield_now};
use integration_tests::{in_runtime, on_nodes, panic_text};
use std::collections::BTreeMap;

/// More than are emitted before a loop pauses.
const MANY: usize = 5000;

#[test]
fn what_elements_emit_is_applied_to_a_vector_once_each() {
    on_nodes(2, 2, || layouts(MANY).into_iter().for_each(emitted_by_elements));
}

#[gossamer::delegate]
fn emitted_by_elements(layout: Layout) {
    let numbers = DistVec::from_fn(layout, |index| index);
    let (sums, factor) = (DistVec::filled(Layout::cyclic(100), 0_u64), std::hint::black_box(3));
    let sent = numbers
        .par_emit(|index, number, out| {
            assert_eq!(index, *number);
            // From none to seven.
            (0..index % 8).for_each(|step| out.push((index + step) % 100, index as u64));
            *number += 1;
        })
        .apply_to(&sums, |sum, by: u64| *sum += factor * by);
    let (mut expected, mut pairs) = (vec![0; 100], 0);
    for index in 0..MANY {
        for step in 0..index % 8 {
            expected[(index + step) % 100] += 3 * index as u64;
            pairs += 1;
        }
    }
    assert_eq!((sums.to_vec(), sent), (expected, pairs));
    assert!(numbers.to_vec().into_iter().eq(1..=MANY), "a loop may change its own elements");
}

#[test]
fn what_elements_emit_is_merged_into_a_map() {
    on_nodes(2, 2, || layouts(MANY).into_iter().for_each(merged));
}

#[gossamer::delegate]
fn merged(layout: Layout) {
    let words = DistVec::from_fn(layout, |index| format!("{} {}", index % 7, index % 1000));
    let (counts, places) = (DistMap::new(), DistMap::new());
    let sent = words
        .par_emit(|_, words, out| words.split(' ').for_each(|word| out.push(word.to_owned(), 1_u64)))
        .merge_into(&counts, |count, more| *count += more);
    assert_eq!(sent, 2 * MANY as u64);
    let mut expected = BTreeMap::<String, u64>::new();
    for index in 0..MANY {
        *expected.entry((index % 7).to_string()).or_default() += 1;
        *expected.entry((index % 1000).to_string()).or_default() += 1;
    }
    assert_eq!(counts.chunks().flatten().collect::<BTreeMap<_, _>>(), expected);

    words.par_emit(|index, _, out| out.push(index % 5, index)).update_into(
        &places,
        vec![MANY],
        |places, place| places.push(place),
    );
    for rest in 0..5 {
        let mut found = places.get(rest).unwrap_or_default();
        assert_eq!(found.remove(0), MANY, "a new key begins with the default");
        found.sort_unstable();
        assert!(found.into_iter().eq((rest..MANY).step_by(5)));
    }
    assert_eq!(places.len(), 5);
}

#[test]
fn entries_of_a_map_emit_too() {
    on_nodes(2, 2, entries);
}

#[gossamer::delegate]
fn entries() {
    let (squares, ends) = (DistMap::new(), DistMap::new());
    squares.extend((0..MANY).map(|number| (number, number * number)));
    let base = std::hint::black_box(10);
    let sent = squares
        .par_emit(|number, square, out| {
            assert_eq!(number * number, *square);
            out.push(*square % base, *number as u64);
        })
        .merge_into(&ends, |sum, more| *sum += more);
    assert_eq!(sent, MANY as u64);
    let mut expected = BTreeMap::new();
    (0..MANY).for_each(|number| *expected.entry(number * number % 10).or_insert(0) += number as u64);
    assert_eq!(ends.chunks().flatten().collect::<BTreeMap<_, _>>(), expected);
}

#[test]
fn numbers_emit_on_all_workers_and_on_some() {
    on_nodes(2, 2, numbers);
}

#[gossamer::delegate]
fn numbers() {
    let most = std::hint::black_box(2000);
    let expected: Vec<u64> = (0..=most)
        .map(|number| (1..=number).filter(|divisor| number % divisor == 0).count() as u64)
        .collect();
    let divisors = DistVec::filled(most + 1, 0_u64);
    par_emit(1..most + 1, |divisor, out| {
        (divisor..=most).step_by(divisor).for_each(|number| out.push(number, 1));
    })
    .apply_to(&divisors, |count, more| *count += more);
    assert_eq!(divisors.to_vec(), expected);

    let workers = [Trustee::all()[1], Trustee::all()[3]];
    let used = DistVec::filled(Trustee::all().len(), 0_u64);
    IndexRange::from(0..MANY)
        .on(&workers)
        .par_emit(|_, out| out.push(Trustee::here().index(), 1))
        .apply_to(&used, |used, more| *used += more);
    let used = used.to_vec();
    assert_eq!((used[0], used[2], used[1] + used[3]), (0, 0, MANY as u64));
    let nothing =
        par_emit(7..7, |number, out| out.push(number, 1)).apply_to(&divisors, |count, more| *count += more);
    assert_eq!(nothing, 0);
}

#[test]
fn a_loop_may_emit_for_the_vector_it_goes_over() {
    in_runtime(2, || {
        let numbers = DistVec::filled(MANY, 1_u64);
        let next = |index: usize, _: &mut u64, out: &mut Emitted<usize, u64>| out.push((index + 1) % MANY, 1);
        numbers.par_emit(next).apply_to(&numbers, |number, more| *number += more);
        assert_eq!(numbers.to_vec(), [2; MANY]);
    });
}

#[test]
fn one_element_may_emit_more_than_fits_any_batch() {
    on_nodes(2, 1, || {
        let (lengths, counts) = (DistVec::from_vec(2, vec![300_000_usize, 1]), DistVec::filled(1000, 0_u64));
        let all = const {
            |_: usize, length: &mut usize, out: &mut Emitted<usize, u64>| {
                (0..*length).for_each(|number| out.push(number % 1000, 1));
            }
        };
        let sent =
            lengths.par_emit(all).apply_to(&counts, const { |count: &mut u64, more: u64| *count += more });
        assert_eq!(sent, 300_001);
        assert_eq!((counts.get(0), counts.get(999)), (301, 300));
    });
}

#[test]
fn a_closure_over_numbers_may_wait_while_it_emits() {
    in_runtime(2, || {
        let (source, target) = (DistVec::from_fn(100, |index| index as u64), DistVec::filled(10, 0_u64));
        let waits = |number: usize, out: &mut Emitted<usize, u64>, source: &DistVec<u64>| {
            yield_now();
            out.push(number % 10, source.get(number));
        };
        gossamer::collections::par_emit_with(0..100, waits, source).apply_to(&target, |sum, by| *sum += by);
        assert!(target.to_vec().into_iter().eq((0..10).map(|rest| 450 + 10 * rest)));
    });
}

#[test]
fn a_panic_in_either_closure_names_the_element_and_loses_nothing_else() {
    on_nodes(2, 1, panics);
}

#[gossamer::delegate]
fn panics() {
    let (numbers, visits) =
        (DistVec::from_fn(Layout::cyclic(100), |index| index), DistVec::filled(100, 0_u64));
    let text = panic_text(|| {
        let visiting = numbers.par_emit(|index, _, out| {
            assert!(index != 55, "not from here");
            out.push(index, 1);
        });
        visiting.apply_to(&visits, |visits, more: u64| *visits += more);
    });
    assert!(["element 55: not from here", "emissions.rs"].iter().all(|part| text.contains(part)), "{text}");
    let visited = visits.to_vec();
    // What the same worker has visited before, and all of the other.
    let expected = |index: usize| index < 55 || index.is_multiple_of(2);
    assert!((0..100).all(|index| visited[index] == u64::from(expected(index))), "{visited:?}");

    let text = panic_text(|| {
        numbers.par_emit(|index, _, out| out.push((index + 1) % 100, 1)).apply_to(
            &visits,
            |visits, by: u64| {
                *visits += 100 * by;
                assert!(*visits != 100, "not here");
            },
        );
    });
    assert!(["element ", ": not here", "emissions.rs"].iter().all(|part| text.contains(part)), "{text}");
    assert!(visits.to_vec().into_iter().all(|visits| visits >= 100), "all others were applied");

    let text = panic_text(|| {
        par_emit(0..100, |number, out| out.push(10 * number, 1))
            .apply_to(&visits, |visits, by: u64| *visits += by);
    });
    let message = "0 is out of range of a `DistVec` with 100 elements";
    let named = ["iteration ", ": index ", message, "emissions.rs"];
    assert!(named.iter().all(|part| text.contains(part)), "{text}");

    let counts = DistMap::new();
    let text = panic_text(|| {
        numbers.par_emit(|index, _, out| out.push(index % 3, index)).merge_into(&counts, |sum, by| {
            *sum += by;
            assert!(*sum < 500, "too many");
        });
    });
    assert!(["too many", "emissions.rs"].iter().all(|part| text.contains(part)), "{text}");
    assert!(!text.contains("src/collections"), "no place inside of the library: {text}");
}

#[test]
fn what_panics_when_arguments_are_combined_spares_all_others() {
    in_runtime(1, combined_with_panics);
    in_runtime(3, combined_with_panics);
}

#[gossamer::delegate]
fn combined_with_panics() {
    let all: u64 = (0..10_000).sum();
    for unlucky in [0, 777, 9_999] {
        let (numbers, sums) = (DistVec::from_fn(10_000, |index| index as u64), DistMap::new());
        // Without a sum of its own, the argument is not lost where it comes first.
        let text = panic_text(|| {
            numbers.par_emit(|_, number, out| out.push(*number % 10, *number)).merge_into(
                &sums,
                |sum, by| {
                    assert!(*sum != unlucky && by != unlucky, "unlucky");
                    *sum += by;
                },
            );
        });
        assert!(text.contains("unlucky") && !text.contains("iteration"), "{text}");
        let found: u64 = sums.chunks().flatten().map(|(_, sum)| sum).sum();
        // The one that comes first for its key is met by the next.
        assert!([all - unlucky, all].contains(&found) || unlucky < 10, "{found} of {all} without {unlucky}");
    }

    let (sums, unlucky) = (DistMap::new(), 5);
    let text = panic_text(|| {
        par_emit(0..10_000, |number, out| {
            assert!(number != 7_000, "the loop");
            out.push(number % 10, Counted::new(number as u64));
        })
        .merge_into(&sums, |sum, by| {
            assert!(by.number != unlucky && by.number != unlucky + 10, "the merge");
            sum.number += by.number;
        });
    });
    assert!(text.contains("the loop"), "the panic that ended the loop comes first: {text}");
    // Nothing is under way any more.
    let count = |sums: &DistMap<usize, Counted>| {
        sums.map_all(|own| own.iter().map(|(_, sum)| sum.number).sum::<u64>())
    };
    let before: u64 = count(&sums).into_iter().sum();
    gossamer::rack::wait_all();
    assert_eq!(before, count(&sums).into_iter().sum::<u64>());
    drop(sums);
    gossamer::rack::wait_all();
}

/// Its destructor panics when the ninth number is dropped, unless that happens while a panic goes on.
#[derive(NoRef)]
struct Counted {
    number: u64,
}

impl Counted {
    fn new(number: u64) -> Self {
        Self { number }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert!(self.number != 9, "the destructor");
    }
}

#[test]
fn a_key_that_cannot_be_hashed_spares_all_others() {
    in_runtime(2, || {
        let counts = DistMap::new();
        let text = panic_text(|| {
            par_emit(0..1000, |number, out| out.push(Picky(number), 1_u64))
                .merge_into(&counts, |sum, by| *sum += by);
        });
        assert!(text.contains("not 500"), "{text}");
        assert_eq!(counts.len(), 999);
    });
}

#[derive(PartialEq, Eq, NoRef)]
struct Picky(usize);

impl std::hash::Hash for Picky {
    fn hash<H: std::hash::Hasher>(&self, hasher: &mut H) {
        assert!(self.0 != 500, "not 500");
        self.0.hash(hasher);
    }
}

#[test]
fn a_loop_that_emits_is_refused_where_it_cannot_run() {
    on_nodes(2, 1, || {
        let all = DistVec::filled(10, 0_u64);
        // The loop is here, but what it changes is not.
        let text = panic_text(|| {
            let here = IndexRange::from(0..10).on(&[Trustee::here()]);
            let push = |index: usize, out: &mut Emitted<usize, u64>| out.push(index, 1);
            here.par_emit(push).apply_to(&all, |count, more| *count += more);
        });
        assert!(text.contains("`apply_to` cannot send its last closure to another node"), "{text}");
        assert_eq!(all.to_vec(), [0; 10]);
    });
    in_runtime(1, || {
        let (property, numbers) = (gossamer::entrust(()), DistVec::filled(10, 0_u64));
        let emit = |(): &mut (), numbers: DistVec<u64>| {
            _ = numbers
                .par_emit(|index, _, out| out.push(index, 1))
                .apply_to(&numbers, |number, more| *number += more);
        };
        let text = panic_text(|| property.apply_with(emit, numbers));
        assert!(text.contains("blocking `apply_to` inside a delegated closure"), "{text}");
    });
}

#[test]
fn a_loop_that_emits_ends_with_its_caller() {
    in_runtime(2, || {
        let counts = DistVec::filled(10, 0_u64);
        let inner = counts.clone();
        let endless = spawn_local(move || {
            par_emit(0..usize::MAX, |number, out| out.push(number % 10, 1))
                .apply_to(&inner, |count, more| *count += more)
        });
        while counts.get(9) == 0 {
            yield_now();
        }
        endless.cancel();
        assert!(endless.try_join().is_err());
        assert!(counts.get(0) > 0);
    });
}

#[test]
fn an_emission_is_printed_with_what_it_goes_over() {
    in_runtime(1, || {
        let numbers = DistVec::from_fn(3, |index| index);
        let emission = numbers.par_emit(|index, _, out| out.push(index, ()));
        let printed = format!("{emission:?}");
        assert!(printed.starts_with("Emission { over: DistVec"), "{printed}");
        let printed =
            format!("{:?}", par_emit(3..9, |number, out: &mut Emitted<usize, ()>| out.push(number, ())));
        assert!(printed.contains("3..9"), "{printed}");
        emission.apply_to(&numbers, |_, ()| ());
    });
}
