//! Random programs on a `DistMap` and on a `BTreeMap`: both end up equal, and give equal results on the way.

use fastrand::Rng;
use gossamer::collections::DistMap;
use gossamer::{Trustee, yield_now};
use integration_tests::{in_runtime, on_nodes};
use std::collections::BTreeMap;

type Oracle = BTreeMap<String, u64>;

/// One of this many keys, short and long ones.
fn key(random: &mut Rng, keys: usize) -> String {
    let number = random.usize(0..keys);
    if number.is_multiple_of(7) { format!("{number:>40}") } else { number.to_string() }
}

/// All entries; each must come once.
fn sorted(chunks: impl Iterator<Item = Vec<(String, u64)>>) -> Vec<(String, u64)> {
    let mut all: Vec<_> = chunks.flatten().collect();
    all.sort_unstable();
    all
}

/// One random step on both.
#[gossamer::delegate]
fn step(random: &mut Rng, map: &DistMap<String, u64>, oracle: &mut Oracle, keys: usize) {
    let (name, number) = (key(random, keys), random.u64(..1000));
    match random.u8(..100) {
        0..15 => assert_eq!(map.get(name.clone()), oracle.get(&name).copied()),
        15..35 => assert_eq!(map.insert(name.clone(), number), oracle.insert(name, number)),
        35..45 => assert_eq!(map.remove(name.clone()), oracle.remove(&name)),
        45..50 => assert_eq!(map.contains_key(name.clone()), oracle.contains_key(&name)),
        50..60 => {
            let after = map.update(name.clone(), 5, |value| {
                *value = (*value * 3 + number) % 1_000_000;
                *value
            });
            let value = oracle.entry(name).or_insert(5);
            *value = (*value * 3 + number) % 1_000_000;
            assert_eq!(after, *value);
        }
        60..66 => {
            let before = map.apply(name.clone(), |value| std::mem::replace(value, number));
            assert_eq!(before, oracle.get_mut(&name).map(|value| std::mem::replace(value, number)));
        }
        66..72 => {
            map.update_then(name.clone(), 0, |value| *value += number, drop);
            *oracle.entry(name.clone()).or_default() += number;
            assert_eq!(map.get_async(name.clone()).wait(), oracle.get(&name).copied());
            assert_eq!(map.insert_async(name.clone(), 7).wait(), oracle.insert(name.clone(), 7));
            assert_eq!(map.remove_async(name.clone()).wait(), oracle.remove(&name));
        }
        72..80 => {
            let mut merges = map.merges(|value, more| *value = (*value + more + number) % 1_000_000);
            let mut groups = BTreeMap::<String, (u64, u64)>::new();
            for _ in 0..random.usize(0..3 * keys) {
                let (name, more) = (key(random, keys), random.u64(..1000));
                if random.bool() {
                    merges.push_ref(name.as_str(), more);
                } else {
                    merges.push(name.clone(), more);
                }
                let (sum, count) = groups.entry(name).or_default();
                *sum += more;
                *count += 1;
            }
            merges.finish();
            // Sums, in whatever groups: one addition of `number` for each value of a key but the first.
            for (name, (sum, count)) in groups {
                let value = match oracle.get(&name) {
                    Some(value) => value + sum + count * number,
                    None => sum + (count - 1) * number,
                };
                let value = if count == 1 && !oracle.contains_key(&name) { value } else { value % 1_000_000 };
                oracle.insert(name, value);
            }
        }
        80..86 => {
            let mut updates =
                map.updates(1, |value, by: u64| *value = (*value * 3 + by + number) % 1_000_000);
            for _ in 0..random.usize(0..keys) {
                let (name, by) = (key(random, keys), random.u64(..1000));
                updates.push(name.clone(), by);
                let value = oracle.entry(name).or_insert(1);
                *value = (*value * 3 + by + number) % 1_000_000;
            }
            updates.finish();
        }
        86..89 => {
            map.retain_with(|_, value, number| *value % 1000 != number, number);
            oracle.retain(|_, value| *value % 1000 != number);
        }
        89..92 => {
            map.par_for_each(|name, value| *value = (*value + number + name.len() as u64) % 1_000_000);
            let by = |name: &String| number + name.len() as u64;
            oracle.iter_mut().for_each(|(name, value)| *value = (*value + by(name)) % 1_000_000);
        }
        92..94 => assert!(sorted(map.chunks()).into_iter().eq(oracle.clone())),
        94..95 => {
            assert!(sorted(map.drain()).into_iter().eq(std::mem::take(oracle)));
            assert!(map.is_empty());
        }
        95..96 => {
            map.clear();
            oracle.clear();
        }
        96..98 => assert_eq!(map.len(), oracle.len()),
        _ => {
            let sums = map.map_all(|entries| {
                let sum: u64 = entries.iter_mut().map(|(_, value)| *value).sum();
                (entries.len(), sum)
            });
            let count: usize = sums.iter().map(|(count, _)| count).sum();
            let sum: u64 = sums.into_iter().map(|(_, sum)| sum).sum();
            assert_eq!((count, sum), (oracle.len(), oracle.values().sum::<u64>()));
        }
    }
}

fn program(seed: u64, map: DistMap<String, u64>, keys: usize, steps: usize) {
    let (mut random, mut oracle) = (Rng::with_seed(seed), Oracle::new());
    for _ in 0..steps {
        step(&mut random, &map, &mut oracle, keys);
    }
    assert!(sorted(map.chunks()).into_iter().eq(oracle), "with seed {seed}");
}

fn programs(steps: usize) {
    let all = Trustee::all();
    let twice: Vec<_> = all.iter().rev().chain(&all[..1]).copied().collect();
    for (seed, keys) in [(1, 1), (2, 13), (3, 300)] {
        program(seed, DistMap::new(), keys, steps);
        program(seed, DistMap::on(&twice), keys, steps);
        program(seed, DistMap::on(&all[all.len() - 1..]), keys, steps);
    }
}

#[test]
fn a_random_program_on_one_worker_does_what_it_does_to_a_map() {
    in_runtime(1, || programs(600));
}

#[test]
fn a_random_program_on_two_workers_does_what_it_does_to_a_map() {
    in_runtime(2, || programs(300));
}

#[test]
fn a_random_program_on_four_workers_does_what_it_does_to_a_map() {
    in_runtime(4, || programs(300));
}

#[test]
fn a_random_program_on_two_nodes_does_what_it_does_to_a_map() {
    on_nodes(2, 2, || programs(100));
}

#[test]
fn a_large_map_is_filled_counted_and_emptied_while_others_use_it() {
    const KEYS: u64 = 30_000;
    in_runtime(2, || {
        let map = DistMap::new();
        let mut merges = map.merges(|value: &mut u64, more| *value += more);
        merges.extend((0..3 * KEYS).map(|number| (number % KEYS, 1)));
        merges.finish();
        assert_eq!(map.len(), KEYS as usize);
        let there = map.clone();
        let other = gossamer::spawn_local(move || {
            let mut updates = there.updates(0, |value: &mut u64, by: u64| *value += by);
            for key in KEYS..2 * KEYS {
                updates.push(key, 1);
                if key.is_multiple_of(100) {
                    yield_now();
                }
            }
            updates.finish();
        });
        let mut met = vec![0; KEYS as usize];
        for (key, value) in map.chunks().flatten().filter(|(key, _)| *key < KEYS) {
            met[key as usize] += 1;
            assert_eq!(value, 3);
        }
        assert_eq!(met, vec![1; KEYS as usize], "each that was there all the time comes once");
        other.join();
        map.retain(|key, _| *key % 2 == 0);
        assert_eq!(map.len(), KEYS as usize);
        let drained: u64 = map.drain().flatten().map(|(_, value)| value).sum();
        assert_eq!((drained, map.len()), (3 * KEYS / 2 + KEYS / 2, 0));
    });
}
