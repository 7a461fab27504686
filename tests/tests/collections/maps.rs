//! Maps: where their entries are, handles that are sent, threads, memory, and how one is printed.

use gossamer::collections::{DistMap, DistSet};
use gossamer::{Trustee, entrust, rack, spawn_on};
use integration_tests::{
    Tally, anonymous_bytes, in_runtime, isolated, on_nodes, panic_text, wait_until, workers,
};
use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

#[test]
fn entries_are_on_the_workers_that_were_named() {
    in_runtime(3, || {
        let all = Trustee::all();
        let map = DistMap::on(&[all[2], all[1], all[2]]);
        assert_eq!(map.trustees(), [all[2], all[1], all[2]]);
        (0..100).for_each(|key| assert_eq!(map.insert(key, key), None));
        let lengths = map.map_all(|entries| entries.len());
        assert!(lengths.iter().all(|length| *length > 10), "{lengths:?}");
        for key in 0..100 {
            let there = map.trustee_of(&key);
            assert!(there == all[1] || there == all[2]);
        }
        assert!(panic_text(|| DistMap::<u8, u8>::on(&[])).contains("on no workers"));
    });
}

#[test]
fn the_workers_of_another_node_have_a_map() {
    on_nodes(2, 2, || {
        let second = rack::nodes()[1].workers();
        let map = DistMap::on(&second);
        assert_eq!(map.insert("a".to_owned(), vec![1]), None);
        assert_eq!(map.trustees(), second);
        assert_eq!(map.get("a".to_owned()), Some(vec![1]));
    });
}

#[test]
fn a_handle_of_a_map_is_used_wherever_it_is_sent() {
    on_nodes(2, 2, send_handles);
}

#[gossamer::delegate]
fn send_handles() {
    let counts = DistMap::<String, u64>::new();
    let mut fibers = Vec::new();
    for trustee in Trustee::all() {
        let counts = counts.clone();
        fibers.push(spawn_on(trustee, move || {
            let mut merges = counts.merges(|count, more| *count += more);
            (0..10_000).for_each(|number| merges.push_ref((number % 100).to_string().as_str(), 1));
            merges.finish();
            counts.update("7".to_owned(), 0, |count| *count += 1000);
        }));
    }
    fibers.into_iter().for_each(|fiber| fiber.join());
    assert_eq!(counts.len(), 100);
    assert_eq!((counts.get("7".to_owned()), counts.get("8".to_owned())), (Some(4400), Some(400)));
    // In a property, and in another map.
    let maps = DistMap::new();
    maps.insert(1, counts.clone());
    drop(counts);
    let counts = maps.get(1).unwrap();
    assert_eq!(counts.get("9".to_owned()), Some(400));
}

#[test]
fn values_that_cannot_travel_are_changed_where_they_are() {
    in_runtime(2, || {
        let map = DistMap::<u64, Rc<Vec<u64>>>::new();
        assert_eq!(map.apply(3, |list| list.len()), None);
        assert!(map.is_empty() && !map.contains_key(3));
        map.par_for_each(|key, list| Rc::make_mut(list).push(*key));
    });
}

#[test]
fn keys_and_values_are_dropped_once() {
    in_runtime(2, || {
        let tally = Tally::new();
        let map = DistMap::new();
        let mut merges = map.merges(|value: &mut Vec<_>, mut more: Vec<integration_tests::Counted>| {
            assert!(value.len() < 40, "a panic in the middle");
            value.append(&mut more);
        });
        for key in 0..10_000 {
            merges.push(key % 1000, vec![tally.value()]);
            if key % 100 == 0 {
                merges.flush();
            }
        }
        merges.finish();
        assert_eq!(map.apply(5, |value| value.len()), Some(10));
        drop(map.insert(5, vec![tally.value()]));
        drop(map.remove(6));
        map.update(7, vec![tally.value()], |value| value.clear());
        map.retain(|key, _| *key % 2 == 0);
        drop(map.drain().next());
        drop(map);
        wait_until(|| tally.is_even());
    });
}

#[test]
fn keys_that_are_not_combined_are_served_in_their_order() {
    on_nodes(2, 2, || {
        let map = DistMap::new();
        let mut updates = map.updates(
            (0, true),
            const {
                |(last, is_ordered): &mut (u64, bool), number: u64| {
                    *is_ordered &= *last < number;
                    *last = number;
                }
            },
        );
        (1..50_000).for_each(|number| updates.push(number % 10, number));
        updates.finish();
        let all: Vec<_> = map.chunks().flatten().collect();
        assert!(all.len() == 10 && all.iter().all(|(_, (last, is_ordered))| *is_ordered && *last > 49_980));
    });
}

#[test]
fn many_values_are_found_by_their_keys_in_the_order_of_the_keys() {
    on_nodes(2, 2, || {
        const KEYS: u64 = 20_000;
        let map = DistMap::new();
        assert_eq!(map.gather(Vec::<u64>::new()), Vec::<Option<String>>::new());
        map.clone().extend((0..KEYS).map(|key| (key, key.to_string())));
        // Twice each, and as many that are missing: more than a request for each worker.
        let asked = || (0..4 * KEYS).map(|number| number * 7 % (2 * KEYS));
        let expected = asked().map(|key| (key < KEYS).then(|| key.to_string()));
        assert!(map.gather(asked()).into_iter().eq(expected));
        let one_by_one = [3, KEYS, 3].map(|key| map.get(key));
        assert_eq!(map.gather([3, KEYS, 3]), one_by_one);
    });
}

#[test]
fn what_is_flushed_is_in_the_map_before_what_is_sent_after() {
    in_runtime(2, || {
        let map = DistMap::new();
        let mut merges = map.merges(|value: &mut u64, more| *value += more);
        merges.push('a', 1);
        merges.flush();
        assert_eq!(map.get('a'), Some(1));
        merges.push('a', 1);
        assert!(format!("{merges:?}").starts_with("KeyedUpdates { gathered: 1, "), "{merges:?}");
        drop(merges);
        wait_until(|| map.get('a') == Some(2));
    });
}

#[test]
fn a_map_is_printed_with_its_workers_and_some_entries() {
    in_runtime(2, || {
        let map = DistMap::new();
        assert_eq!(format!("{map:?}"), "DistMap(0 entries over 2 workers){}");
        map.insert("a".to_owned(), Some(1.5));
        assert_eq!(format!("{map:?}"), "DistMap(1 entries over 2 workers){\"a\": Some(1.5)}");
        (0..20).for_each(|number| _ = map.insert(number.to_string(), None));
        let text = format!("{map:?}");
        assert!(
            text.starts_with("DistMap(21 entries over 2 workers){\"") && text.ends_with(", ..}"),
            "{text}"
        );
        assert_eq!(text.matches(": ").count(), 8);
        let property = entrust(DistMap::<u8, u8>::on(&Trustee::all()[..1]));
        let text = property.apply(|map| format!("{map:?}"));
        assert_eq!(text, "DistMap(over 1 worker)", "where it cannot ask");
    });
}

#[test]
fn a_thread_that_is_no_worker_uses_a_map() {
    in_runtime(2, || {
        let map = DistMap::new();
        let there = map.clone();
        let thread = std::thread::spawn(move || {
            let mut merges = there.merges(|value: &mut u64, more| *value += more);
            (0..100_u64).for_each(|number| merges.push(number % 10, number));
            merges.finish();
            there.insert(100, 1);
            there.par_for_each(|_, value| *value += 1);
            there.chunks().flatten().map(|(_, value)| value).sum::<u64>()
        });
        wait_until(|| thread.is_finished());
        assert_eq!(thread.join().unwrap(), 4950 + 1 + 11);
    });
}

#[test]
fn a_map_takes_as_much_memory_as_a_plain_one_and_what_is_gathered_is_bounded() {
    const ENTRIES: u64 = 2_000_000;
    isolated(|| {
        gossamer::run(workers(2), || {
            let before = anonymous_bytes();
            let mut plain = HashMap::new();
            (0..ENTRIES).for_each(|key| _ = plain.insert(key, key));
            let needed = anonymous_bytes() - before;
            assert_eq!(plain.len(), ENTRIES as usize);
            // It is kept, so that its memory is not used for the other map.
            let before = anonymous_bytes();
            let map = DistMap::new();
            let mut merges = map.merges(|value: &mut u64, more| *value += more);
            (0..ENTRIES).for_each(|key| merges.push(key, key));
            merges.finish();
            let taken = anonymous_bytes() - before;
            assert_eq!(map.len(), plain.len());
            let allowed = needed / 10 * 11 + 2 * 1400 * 1024;
            assert!(taken > needed / 3 && taken < allowed, "{taken} bytes for {needed}");
        });
    });
}

#[test]
fn maps_and_sets_are_collected_and_extended_and_the_last_value_of_a_key_is_kept() {
    on_nodes(2, 2, || {
        let pairs = || (0..30_000_u64).map(|number| (format!("{}", number % 7000), number));
        let map: DistMap<String, u64> = pairs().collect();
        let expected: HashMap<String, u64> = pairs().collect();
        assert_eq!(map.chunks().flatten().collect::<HashMap<_, _>>(), expected);
        map.extend([("12".to_owned(), 1), ("new".to_owned(), 2), ("12".to_owned(), 3)]);
        assert_eq!(
            (map.len(), map.get("12".to_owned()), map.get("new".to_owned())),
            (7001, Some(3), Some(2))
        );
        let set: DistSet<u64> = pairs().map(|(_, number)| number % 11).collect();
        set.extend([10, 11]);
        assert_eq!((set.len(), set.chunks().flatten().sum::<u64>()), (12, 66));
    });
}

#[test]
fn a_set_has_each_key_once_on_all_nodes() {
    on_nodes(2, 2, sets);
}

#[gossamer::delegate]
fn sets() {
    let set = DistSet::<u64>::new();
    assert!(set.insert(1) && !set.insert(1) && set.contains(1));
    assert!(set.remove(1) && !set.remove(1) && !set.contains(1) && set.is_empty());
    let mut fibers = Vec::new();
    for (worker, trustee) in (0_u64..).zip(Trustee::all()) {
        let set = set.clone();
        fibers.push(spawn_on(trustee, move || {
            let mut inserts = set.inserts();
            (0..5000).for_each(|number| inserts.push(number % 500 + 100 * worker, ()));
            inserts.finish();
        }));
    }
    fibers.into_iter().for_each(|fiber| fiber.join());
    assert_eq!((set.len(), set.trustees()), (800, Trustee::all()));
    set.as_map().retain_with(|key, (), least| key >= least, 300);
    let mut keys: Vec<_> = set.chunks().flatten().collect();
    keys.sort_unstable();
    assert!(keys.into_iter().eq(300..800));
    let heard = Rc::new(Cell::new(0));
    let hear = |weight: u32| {
        let heard = heard.clone();
        move |told: bool| heard.set(heard.get() + if told { weight } else { 1000 * weight })
    };
    set.contains_then(7, hear(1));
    set.insert_then(7, hear(10));
    set.contains_then(7, hear(100));
    set.remove_then(7, hear(1));
    set.insert_then(7, hear(1));
    let again = [set.insert_async(7), set.contains_async(7), set.remove_async(8)];
    assert_eq!(again.map(|pending| pending.wait()), [false, true, false]);
    assert_eq!((heard.get(), set.remove_async(7).wait()), (1112, true));
    assert!(set.insert(7));
    assert_eq!(set.drain().flatten().sum::<u64>(), (300..800).sum::<u64>() + 7);
    set.insert(3);
    assert_eq!(set.trustee_of(&3), set.as_map().trustee_of(&3));
    assert!(format!("{set:?}").contains("1 entries over 4 workers"), "{set:?}");
    set.clear();
    assert!(set.is_empty());
}
