//! Random programs on a `DistMap` and on a `BTreeMap`: both end up the same, and say the same on the way. For tests of
//! this crate, and for those outside of it.

use fastrand::Rng;
use gossamer::collections::DistMap;
use std::collections::BTreeMap;

type Oracle = BTreeMap<String, u64>;

/// A key among so many: short and long ones.
fn key(random: &mut Rng, keys: usize) -> String {
    let number = random.usize(0..keys);
    if number.is_multiple_of(7) { format!("{number:>40}") } else { number.to_string() }
}

/// All entries, which come once each.
fn sorted(chunks: impl Iterator<Item = Vec<(String, u64)>>) -> Vec<(String, u64)> {
    let mut all: Vec<_> = chunks.flatten().collect();
    all.sort_unstable();
    all
}

/// One random step, on both.
#[gossamer::delegate]
fn step(random: &mut Rng, map: &DistMap<String, u64>, oracle: &mut Oracle, keys: usize) {
    let (name, number) = (key(random, keys), random.u64(..1000));
    match random.u8(..100) {
        0..10 => assert_eq!(map.get(name.clone()), oracle.get(&name).copied()),
        10..15 => {
            let names: Vec<_> = (0..random.usize(0..3 * keys)).map(|_| key(random, 2 * keys)).collect();
            let expected: Vec<_> = names.iter().map(|name| oracle.get(name).copied()).collect();
            assert_eq!(map.gather(names), expected);
        }
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
            map.retain_with(|_, value, number| *value % 1000 != *number, number);
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
        96 => assert_eq!(map.len(), oracle.len()),
        97 => loops(map, oracle, number),
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

/// Loops that return something.
#[gossamer::delegate]
fn loops(map: &DistMap<String, u64>, oracle: &Oracle, number: u64) {
    let mapped = map.par_map(|name, value| name.len() as u64 + value + number);
    let expected = oracle.iter().map(|(name, value)| (name.clone(), name.len() as u64 + value + number));
    assert!(sorted(mapped.chunks()).into_iter().eq(expected));
    let kept = map.par_filter(|_, value| value % 3 == number % 3);
    let expected = oracle.clone().into_iter().filter(|(_, value)| value % 3 == number % 3);
    assert!(sorted(kept.chunks()).into_iter().eq(expected));
    let folded = map.par_fold(0, |sum, _, value| sum + value % (number + 1));
    let expected: u64 = oracle.values().map(|value| value % (number + 1)).sum();
    assert_eq!(folded.into_iter().sum::<u64>(), expected);
    let largest = map.par_map_reduce(|_, value| value ^ number, |one, other| one.max(other));
    assert_eq!(largest, oracle.values().map(|value| value ^ number).max());
}

/// A program of so many steps on a map, with so many different keys.
pub(crate) fn program(seed: u64, map: DistMap<String, u64>, keys: usize, steps: usize) {
    println!("{steps} steps on a map of {keys} keys, seed {seed}");
    let (mut random, mut oracle) = (Rng::with_seed(seed), Oracle::new());
    for _ in 0..steps {
        step(&mut random, &map, &mut oracle, keys);
    }
    assert!(sorted(map.chunks()).into_iter().eq(oracle), "seed {seed}");
}
