//! Loops that make something of elements and of numbers, against `Vec` and its iterators.

use crate::layouts;
use fastrand::Rng;
use gossamer::collections::{self, DistVec, Frontier, Layout, Outgoing};
use gossamer::{Runtime, Trustee};
use integration_tests::{in_runtime, on_nodes, panic_text, workers};
use std::collections::BTreeMap;
use std::time::Duration;

#[test]
fn loops_over_elements_do_what_iterators_do() {
    in_runtime(1, || elements(3000));
    in_runtime(2, || elements(300));
    in_runtime(4, || elements(300));
    on_nodes(2, 2, || elements(100));
}

#[gossamer::delegate]
fn elements(most: usize) {
    let mut random = Rng::with_seed(7);
    for (layout, len) in
        [0, 7, most].into_iter().flat_map(|len| layouts(len).into_iter().map(move |layout| (layout, len)))
    {
        let oracle: Vec<u64> = (0..len).map(|_| random.u64(..1000)).collect();
        let vector = DistVec::from_vec(layout, oracle.clone());
        let by = 3;
        let numbered = || oracle.iter().enumerate();
        let mapped = vector.par_map(|index, element| format!("{}", index as u64 + element * by));
        assert!(
            mapped
                .to_vec()
                .into_iter()
                .eq(numbered().map(|(index, element)| format!("{}", index as u64 + element * by)))
        );
        let kept = vector.par_filter(|index, element| (index as u64 + element) % by == 1).to_vec();
        assert!(
            kept.iter().eq(numbered()
                .filter(|(index, element)| (*index as u64 + **element) % by == 1)
                .map(|(_, element)| element))
        );
        let sums = vector.par_fold(by, |sum, index, element| sum + index as u64 * element);
        assert_eq!(sums.len(), vector.trustees().len());
        assert_eq!(
            sums.iter().sum::<u64>(),
            numbered().map(|(index, element)| index as u64 * element).sum::<u64>() + by * sums.len() as u64
        );
        assert_eq!(vector.par_reduce(|one, other| one.max(other)), oracle.iter().copied().max());
        let modulus = 1009;
        let product = vector.par_reduce(|one, other| one * other % modulus);
        assert_eq!(product, oracle.iter().copied().reduce(|one, other| one * other % modulus));
        scans(&vector, &oracle);
        let largest =
            vector.par_map_reduce(|index, element| (element % by, index), |one, other| one.max(other));
        assert_eq!(largest, numbered().map(|(index, element)| (element % by, index)).max());
        let groups: BTreeMap<_, _> = vector
            .par_group_by(|_, element| element % (3 * by))
            .to_vec()
            .into_iter()
            .map(|(key, mut group)| {
                group.sort_unstable();
                (key, group)
            })
            .collect();
        let mut expected = BTreeMap::<u64, Vec<u64>>::new();
        oracle.iter().for_each(|element| expected.entry(element % (3 * by)).or_default().push(*element));
        expected.values_mut().for_each(|group| group.sort_unstable());
        assert_eq!(groups, expected);
        // Both vectors change in the same places.
        vector.par_zip(&mapped, |index, element, text| {
            *element += by;
            text.push_str(&index.to_string());
        });
        assert!(vector.to_vec().into_iter().eq(oracle.iter().map(|element| element + by)));
        assert!(
            mapped
                .to_vec()
                .into_iter()
                .eq(numbered().map(|(index, element)| format!("{}{index}", index as u64 + element * by)))
        );
        for to in layouts(len) {
            assert_eq!(mapped.with_layout(to).to_vec(), mapped.to_vec());
        }
    }
}

#[gossamer::delegate]
fn scans(vector: &DistVec<u64>, oracle: &[u64]) {
    let sums = vector.par_scan(|before, element| before + element);
    let mut sum = 0;
    let expected = oracle.iter().map(|element| {
        sum += element;
        sum
    });
    assert!(sums.to_vec().into_iter().eq(expected));
    assert_eq!(sums.trustees(), vector.trustees());
    // One linear function after another: associative, but not commutative.
    let modulus = 1009;
    let functions = vector.par_map(|index, element| (element % modulus, index as u64 % modulus));
    let composed = functions.par_scan(|before: (u64, u64), after| {
        (after.0 * before.0 % modulus, (after.0 * before.1 + after.1) % modulus)
    });
    let mut before = (1, 0);
    let expected = oracle.iter().zip(0_u64..).map(|(element, index)| {
        before = (element * before.0 % modulus, (element * before.1 + index) % modulus);
        before
    });
    assert!(composed.to_vec().into_iter().eq(expected));
}

#[test]
fn a_panic_in_a_scan_names_the_element() {
    on_nodes(
        2,
        2,
        const { || [Layout::block(100), Layout::cyclic(100)].into_iter().for_each(panicking_scan) },
    );
}

#[gossamer::delegate]
fn panicking_scan(layout: Layout) {
    let numbers = DistVec::from_fn(layout, |index| index);
    let text = panic_text(|| {
        _ = numbers.par_scan(|before, number| {
            assert!(number != 70, "no more");
            before.max(number)
        });
    });
    assert!(text.contains("no more") && text.contains("70"), "{text}");
    assert_eq!(numbers.par_scan(|before, number| before.max(number)).to_vec(), numbers.to_vec());
}

#[test]
fn of_one_key_elements_stay_in_their_order() {
    on_nodes(2, 2, || {
        let vector = DistVec::from_fn(1000, const { |index: usize| index });
        let groups = vector.par_group_by(const { |_, element: &usize| element % 7 });
        assert_eq!(groups.len(), 7);
        for (key, group) in groups.to_vec() {
            assert!(group.into_iter().eq((key..1000).step_by(7)));
        }
        // The elements lie in blocks of the same length.
        assert!(groups.map_all(const { |groups| groups.len() }).into_iter().eq([2, 2, 2, 1]));
    });
}

#[test]
fn chunks_are_neighbours_on_one_worker() {
    in_runtime(3, chunks);
    on_nodes(2, 2, chunks);
}

#[gossamer::delegate]
fn chunks() {
    for size in [1, 4, 1000] {
        for layout in layouts(50) {
            let (vector, mark) = (DistVec::from_fn(layout, |index| (index, 0, 0)), 7);
            vector.par_chunks(size, |first, chunk| {
                assert!(chunk[0].0 == first && chunk.len() <= size);
                let len = chunk.len();
                chunk.iter_mut().for_each(|(_, seen, of)| (*seen, *of) = (*seen + mark, len));
            });
            let all = vector.to_vec();
            assert!(all.iter().all(|(_, seen, of)| *seen == 7 && (1..=size).contains(of)));
            let chunks: f64 = all.iter().map(|(.., of)| 1.0 / *of as f64).sum();
            let expected: usize = vector.map_all(|elements| elements.len().div_ceil(size)).into_iter().sum();
            assert!((chunks - expected as f64).abs() < 1e-6, "{chunks} {expected}");
        }
    }
    assert!(panic_text(|| DistVec::filled(3, 0).par_chunks(0, |_, _| ())).contains("chunks of no elements"));
}

#[test]
fn loops_over_numbers_do_what_iterators_do() {
    in_runtime(1, || numbers(10_000));
    in_runtime(4, || numbers(10_000));
    on_nodes(2, 2, || numbers(1000));
}

#[gossamer::delegate]
fn numbers(most: usize) {
    for range in [0..most, 0..0, 7..8, 3..most / 3] {
        let by = 3;
        // In order of the numbers.
        let all = collections::par_fold(range.clone(), Vec::new(), |mut all: Vec<usize>, number| {
            all.push(number * by);
            all
        });
        assert!(all.concat().into_iter().eq(range.clone().map(|number| number * by)));
        let first =
            collections::par_map_reduce(range.clone(), |number| (number * by).to_string(), |one, _| one);
        assert_eq!(first, range.clone().next().map(|number| (number * by).to_string()));
        let sum = collections::par_map_reduce(range.clone(), |number| number, |one, other| one + other);
        assert_eq!(sum.unwrap_or(0), range.sum::<usize>());
    }
}

#[test]
fn where_the_chunks_of_a_fold_begin_does_not_depend_on_what_takes_long() {
    in_runtime(3, boundaries);
    on_nodes(2, 2, boundaries);
}

#[gossamer::delegate]
fn boundaries() {
    for most in [1, 3, 50, 5000] {
        let chunks = |slow: usize| {
            collections::par_fold(0..most, Vec::new(), move |mut chunk: Vec<usize>, number| {
                if number % 97 == slow {
                    gossamer::sleep(Duration::from_micros(200));
                }
                chunk.push(number);
                chunk
            })
        };
        let first = chunks(97);
        assert!(first.concat().into_iter().eq(0..most));
        assert!([0, 1, 50, 96].into_iter().all(|slow| chunks(slow) == first), "{first:?}");
    }
}

#[test]
fn sums_of_fractions_are_the_same_each_time() {
    in_runtime(3, || {
        let vector = DistVec::from_fn(100_000, |index| 1.0 / (index + 1) as f64);
        let sums = || {
            let of_elements = vector.par_reduce(|one, other| one + other);
            let of_numbers = collections::par_map_reduce(
                0..100_000,
                |number| 1.0 / (number + 1) as f64,
                |one, other| one + other,
            );
            (of_elements, of_numbers)
        };
        let first = sums();
        assert!((0..10).all(|_| sums() == first), "{first:?}");
    });
}

#[test]
fn a_panic_in_a_loop_names_the_element_and_spares_the_others() {
    on_nodes(2, 2, panics);
}

#[gossamer::delegate]
fn panics() {
    for layout in [Layout::block(1000), Layout::cyclic(1000)] {
        let (vector, at) = (DistVec::from_fn(layout, |index| index), 555);
        let other = vector.par_map(|_, element| *element);
        let loops: [(&str, Box<dyn Fn()>); 7] = [
            (
                "element 555",
                Box::new(|| drop(vector.par_map(|_, element| assert_ne!(*element, at, "not this one")))),
            ),
            (
                "element 555",
                Box::new(|| {
                    let sums = vector.par_fold(0, |sum, _, element| {
                        assert_ne!(*element, at, "not this one");
                        sum + element
                    });
                    drop(sums);
                }),
            ),
            (
                "element",
                Box::new(|| {
                    drop(vector.par_filter(|_, element| {
                        assert_ne!(*element, at, "not this one");
                        true
                    }));
                }),
            ),
            (
                "element 555",
                Box::new(|| vector.par_zip(&other, |_, element, _| assert_ne!(*element, at, "not this one"))),
            ),
            (
                "chunk from element",
                Box::new(|| vector.par_chunks(10, |_, chunk| assert!(!chunk.contains(&at), "not this one"))),
            ),
            (
                "element 555",
                Box::new(|| {
                    drop(vector.par_group_by(|_, element| {
                        assert_ne!(*element, at, "not this one");
                        0
                    }));
                }),
            ),
            (
                "",
                Box::new(|| {
                    vector.par_sort_by_key(|element| {
                        assert_ne!(*element, at, "not this one");
                        0
                    });
                }),
            ),
        ];
        for (place, body) in &loops {
            let text = panic_text(body);
            assert!(
                text.contains(place) && text.contains("not this one") && text.contains("folds.rs"),
                "{text}"
            );
        }
        let mut left = vector.to_vec();
        left.sort_unstable();
        assert!(left.into_iter().eq(0..1000));
    }
    let text = panic_text(|| {
        collections::par_fold(0..1000, 0, |sum, number| {
            assert_ne!(number, 555, "not this one");
            sum + number
        })
    });
    assert!(text.contains("iteration 555: ") && text.contains("not this one"), "{text}");
}

#[test]
fn vectors_that_lie_apart_are_not_zipped() {
    in_runtime(2, || {
        let blocks = DistVec::filled(10, 0);
        let elsewhere = Runtime::start(workers(2)).unwrap();
        for (other, differs) in [
            (DistVec::filled(Layout::cyclic(10), 0), "one with 10 in turn over 2 workers"),
            (DistVec::filled(11, 0), "one with 11 in blocks of 6 over 2 workers"),
            (
                DistVec::filled(Layout::block(10).on(&[Trustee::all()[1], Trustee::all()[0]]), 0),
                "one on other workers (part 0 of the first is on worker 0, that of the second on worker 1)",
            ),
            (
                elsewhere.spawn(|| DistVec::filled(10, 0)).join(),
                "(part 0 of the first is on worker 0, that of the second on a worker of another runtime)",
            ),
        ] {
            let text = panic_text(|| blocks.par_zip(&other, |_, _, _| ()));
            assert!(text.contains("10 elements in blocks of 5 over 2 workers is zipped with "), "{text}");
            assert!(text.contains("the same layout on the same workers") && text.contains(differs), "{text}");
            let text = panic_text(|| {
                _ = Frontier::of(&blocks).par_for_each(&other, |_, _, _: &i32, _: &mut Outgoing<u8>| ())
            });
            assert!(text.contains("the same layout on the same workers") && text.contains(differs), "{text}");
        }
        assert!(panic_text(|| blocks.par_zip(&blocks, |_, _, _| ())).contains("cannot be borrowed twice"));
    });
}

#[test]
fn a_second_closure_goes_to_other_nodes_only_as_a_constant() {
    on_nodes(2, 1, || {
        let vector = DistVec::filled(4, 1_u64);
        let itself = const { |_: usize, element: &u64| *element };
        let text = panic_text(|| vector.par_map_reduce(itself, |one, other| one + other));
        assert!(text.contains("`par_map_reduce` cannot send its last closure to another node"), "{text}");
        assert_eq!(vector.par_map_reduce(itself, const { |one, other| one + other }), Some(4));
        let here = DistVec::filled(Layout::block(4).on(&[Trustee::here()]), 1_u64);
        assert_eq!(here.par_map_reduce(itself, |one, other| one + other), Some(4));
    });
}
