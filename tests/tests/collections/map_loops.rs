//! Loops over maps that return something, beside iterators over a `BTreeMap`.

use gossamer::collections::DistMap;
use gossamer::{spawn_with, yield_now};
use integration_tests::{in_runtime, on_nodes, panic_text};
use std::collections::BTreeMap;

fn sorted<K: Ord + Clone + gossamer::NoRef, V: Ord + Clone + gossamer::NoRef>(
    map: &DistMap<K, V>,
) -> BTreeMap<K, V> {
    map.chunks().flatten().collect()
}

#[test]
fn loops_over_entries_do_what_iterators_do() {
    for entries in [0, 1, 20_000] {
        in_runtime(1, move || entries_of(entries));
        in_runtime(3, move || entries_of(entries));
    }
    on_nodes(2, 2, || entries_of(9000));
}

#[gossamer::delegate]
fn entries_of(count: u64) {
    let map = DistMap::<u64, String>::new();
    let mut inserts = map.updates(String::new(), |text, number: u64| *text = number.to_string());
    (0..count).for_each(|key| inserts.push(key, key * 7 % 1000));
    inserts.finish();
    let oracle: BTreeMap<u64, String> = (0..count).map(|key| (key, (key * 7 % 1000).to_string())).collect();
    let (by, most) = (3, 2);

    let lengths = map.par_map(|key, text| key * by + text.len() as u64);
    let expected: BTreeMap<_, _> =
        oracle.iter().map(|(key, text)| (*key, key * by + text.len() as u64)).collect();
    assert_eq!(sorted(&lengths), expected);
    assert!(count == 0 || lengths.get(count - 1) == expected.get(&(count - 1)).copied());
    assert_eq!(lengths.len(), count as usize);
    // The new entries are where they are looked up, and the map can grow.
    lengths.insert(count, 5);
    assert_eq!((lengths.remove(count), lengths.remove(count)), (Some(5), None));

    let short = map.par_filter(|key, text| text.len() <= most && key % 2 == 0);
    let expected: BTreeMap<_, _> =
        oracle.iter().filter(|(key, text)| text.len() <= most && *key % 2 == 0).collect();
    assert!(sorted(&short).iter().eq(expected));
    assert_eq!(map.len(), count as usize, "a filter leaves the map as it is");

    let sums = map.par_fold(1, |sum, key, text| sum + key * by + text.len() as u64);
    assert_eq!(sums.len(), map.trustees().len());
    let expected: u64 = oracle.iter().map(|(key, text)| key * by + text.len() as u64).sum();
    assert_eq!(sums.iter().sum::<u64>(), expected + sums.len() as u64);

    let longest = map.par_map_reduce(|key, text| (text.len() * most, *key), |one, other| one.max(other));
    assert_eq!(longest, oracle.iter().map(|(key, text)| (text.len() * most, *key)).max());
}

#[test]
fn loops_without_captures_need_no_macro() {
    in_runtime(2, || {
        let map = DistMap::new();
        (0..100_u64).for_each(|key| _ = map.insert(key, key));
        assert_eq!(map.par_map(|key, value| key + value).get(7), Some(14));
        assert_eq!(map.par_filter_with(|key, _, most| key < most, 10).len(), 10);
        assert_eq!(map.par_fold(0, |sum, _, value| sum + value).into_iter().sum::<u64>(), 4950);
        assert_eq!(map.par_map_reduce_with(|_, value, by| value * by, 2, u64::max), Some(198));
    });
}

#[test]
fn a_map_on_chosen_workers_is_made_there() {
    in_runtime(3, || {
        let last = gossamer::Trustee::all()[2];
        let map = DistMap::on(&[last, last]);
        (0..1000_u64).for_each(|key| _ = map.insert(key, key));
        let doubled = map.par_map(|_, value| 2 * value);
        assert_eq!((doubled.trustees(), doubled.len()), (vec![last, last], 1000));
        assert!((0..1000).all(|key| doubled.get(key) == Some(2 * key)));
    });
}

#[test]
fn a_loop_over_entries_meets_those_that_stay_once_while_others_come_and_go() {
    in_runtime(2, || {
        let map = DistMap::new();
        (0..20_000_u64).for_each(|key| _ = map.insert(key, 1_u64));
        let change = |map: DistMap<u64, u64>| {
            for key in 20_000..23_000 {
                map.insert(key, 0);
                map.remove(key - 5000);
                yield_now();
            }
        };
        let changes = spawn_with(change, map.clone());
        for _ in 0..5 {
            let met: u64 = map.par_fold(0, |met, key, _| met + u64::from(*key < 15_000)).into_iter().sum();
            assert_eq!(met, 15_000);
        }
        changes.join();
    });
}

#[test]
fn a_panic_in_a_loop_over_entries_names_the_line_that_called_and_spares_the_map() {
    on_nodes(2, 1, panics);
}

#[gossamer::delegate]
fn panics() {
    let map = DistMap::new();
    (0..1000_u64).for_each(|key| _ = map.insert(key, key));
    let unlucky = 713;
    let maps =
        |text: String| assert!(text.contains("unlucky 713") && text.contains("map_loops.rs"), "{text}");
    maps(panic_text(|| drop(map.par_map(|key, _| assert!(*key != unlucky, "unlucky {key}")))));
    maps(panic_text(|| {
        map.par_fold(0, |sum, key, _| {
            assert!(*key != unlucky, "unlucky {key}");
            sum
        });
    }));
    assert_eq!((map.len(), map.get(unlucky)), (1000, Some(unlucky)));
}
