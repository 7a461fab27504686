//! Loops borrow what they capture, whatever the closure looks like.

use gossamer::collections::{self, DistMap, DistQueue, DistVec, Frontier, IndexRange, Marker};
use gossamer::{NoRef, Sharded, Trust, entrust};
use std::collections::HashMap;

#[derive(Clone, NoRef)]
struct Table {
    names: Vec<String>,
    limit: usize,
}

#[gossamer::delegate]
fn generic<T: NoRef + Clone + PartialOrd, U: NoRef + Clone + Ord>(words: &DistVec<T>, least: T, key: U) -> Vec<bool> {
    let keys = words.par_filter(move |_, word| *word > least).par_map::<U, _>(move |_, _| key.clone());
    keys.par_map(|index, key| index < 1 || *key > key.clone()).to_vec()
}

#[gossamer::delegate]
fn shapes(numbers: &DistVec<u64>, table: Table, total: &Trust<u64>) {
    let Table { names, limit } = table.clone();
    // A block, a return, a type of the result, patterns, formats.
    let texts = numbers.par_map(move |index, &number| -> String {
        if index >= limit {
            return format!("{number} {limit}");
        }
        let name = &names[index % names.len()];
        format!("{name}{index}")
    });
    assert_eq!(texts.get(1), "b1");
    // A field, a method, and a closure in the closure that borrows.
    let lengths = numbers.par_map(|index, _| table.names.iter().filter(|name| name.len() + index < table.limit).count());
    assert_eq!(lengths.get(0), 2);
    // A loop in a loop, and a request in it: each takes its own copy.
    let (vector, total, by) = (numbers.clone(), total.clone(), 2_u64);
    collections::par_for_each(0..3, move |outer| {
        let (total, inner) = (total.clone(), vector.clone());
        IndexRange::from(0..2).par_for_each(move |number| {
            let more = inner.get(number) * by + outer as u64;
            total.apply(|total| *total += more * by);
        });
    });
    // Many captures, one of which only a macro names.
    let (a, b, c, d, e, f, g, h, i, j, k, l, m) = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13_u64);
    let sums = numbers.par_fold(0, |sum, _, number| sum + number + a + b + c + d + e + f + g + h + i + j + k + l + m);
    assert!(sums.into_iter().sum::<u64>() > 91);
    let start = "x".to_owned();
    numbers.par_for_each(|_, number| assert!(format!("{start}{number}").starts_with('x')));
    // What moves is a copy of the closure's own.
    let (log, word) = (entrust(Vec::new()), "y".to_owned());
    let there = log.clone();
    collections::par_for_each(0..4, move |_| {
        let word = word.clone();
        there.apply(move |log| log.push(word));
    });
    assert_eq!(log.apply(|log| log.len()), 4);
}

#[gossamer::delegate]
fn explicit(numbers: &DistVec<u64>) {
    let pair = (2_u64, 3_u64);
    numbers.par_for_each_with(|_, number, (a, b)| *number += a * b, pair);
    numbers.par_for_each_with(|_, number, pair: &(u64, u64)| *number -= pair.0 * pair.1, pair);
    assert_eq!(numbers.par_map_reduce_with(|_, number, by| number * by, 10, |one, other| one + other), Some(60));
    let by = 7;
    let mut updates = numbers.updates_marking(|number, more: u64| {
        *number += more * by;
        *number > 7
    });
    updates.push(0, 1);
    updates.finish();
    assert_eq!(numbers.marked(), 1);
}

#[gossamer::delegate]
fn others(by: u64) {
    let shards = Sharded::<u64, HashMap<u64, u64>>::new();
    let name = format!("{by}");
    let stored = shards.apply_batch((0..4).map(|key| (key, key)), |shard, key, value| {
        shard.insert(key, value + by);
        name.len() as u64 + value
    });
    assert_eq!(stored, [1, 2, 3, 4]);
    let map: DistMap<u64, u64> = (0..10).map(|key| (key, key)).collect();
    let limits = vec![3, 5];
    assert_eq!(map.par_filter(|_, value| *value < limits[1]).len(), 5);
    let queue = DistQueue::new();
    queue.extend(0..10_u64);
    let seen = entrust(0);
    let there = seen.clone();
    queue.par_for_each(move |item, _| there.apply(|seen| *seen += item * by));
    assert_eq!(seen.apply(|seen| *seen), 45 * by);
    let rows = DistVec::from_vec(3, vec![vec![1_usize, 2], vec![0], vec![1]]);
    let marks = DistVec::filled(3, 0_u64);
    let mut front = Frontier::of(&marks);
    front.mark(0);
    front.swap();
    let weights = vec![by; 3];
    let more = weights.clone();
    front
        .par_for_each(&rows, |_, _, row: &Vec<usize>, out| row.iter().for_each(|to| out.push(*to, weights[*to])))
        .apply(|mark, weight, _| *mark += weight + more[0]);
    assert_eq!(marks.to_vec(), [0, 2 * by, 2 * by]);
    front.mark(0);
    front.swap();
    let add = move |mark: &mut u64, weight: u64, _: &mut Marker<'_>| *mark += weight * by;
    front.par_for_each(&rows, |_, _, row: &Vec<usize>, out| row.iter().for_each(|to| out.push(*to, 1))).apply(add);
    assert_eq!(marks.to_vec(), [0, 3 * by, 3 * by]);
}

#[gossamer::delegate]
fn type_arguments(by: u64) {
    let (ones, twos) = (DistVec::filled(4, 1_u64), DistVec::filled(4, 2_u64));
    let mut updates = ones.updates::<u64, _>(|one, more| *one += more * by);
    updates.push(0, 1);
    updates.finish();
    let mut updates = ones.updates_marking::<u64, _>(|one, more| {
        *one += more * by;
        true
    });
    updates.push(1, 1);
    updates.finish();
    ones.par_zip::<u64, _>(&twos, |_, one, two| *one += *two * by);
    ones.par_sort_by_key::<u64, _>(|one| *one * by);
    assert_eq!(ones.par_fold::<u64, _>(0, |sum, _, one| sum + *one * by).into_iter().sum::<u64>(), 10 * by * by + 4 * by);
    assert_eq!(collections::par_fold::<u64, _>(0..4, 0, |sum, _| sum + by).into_iter().sum::<u64>(), 4 * by);
    assert_eq!(collections::par_map_reduce::<u64, _, _>(0..4, |_| by, |one, other| one + other), Some(4 * by));
    assert_eq!(ones.par_group_by::<u64, _>(|_, _| by).len(), 1);
    let shards = Sharded::<u64, u64>::new();
    let added = shards.apply_batch::<u64, u64, _>([(1, 2)], |shard, _, more| {
        *shard += more * by;
        *shard
    });
    assert_eq!(added, [2 * by]);
    ones.par_for_each_with::<u64, _>(|_, one, by| *one = *by, 7);
    assert_eq!(ones.par_map_with::<u64, u64, _>(|_, one, by| *one + by, by).to_vec(), [7 + by; 4]);
    let sums = collections::par_fold_with::<u64, u64, _>(0..4, 0, |sum, _, by| sum + by, by);
    assert_eq!(sums.into_iter().sum::<u64>(), 4 * by);
}

#[gossamer::main(threads = 2)]
fn main() {
    let numbers = DistVec::from_vec(3, vec![1, 2, 3]);
    let total = entrust(0);
    shapes(&numbers, Table { names: vec!["a".to_owned(), "b".to_owned()], limit: 2 }, &total);
    assert_eq!(total.apply(|total| *total), 48);
    explicit(&numbers);
    others(4);
    type_arguments(3);
    let words = DistVec::from_vec(3, vec!["tea".to_owned(), "milk".to_owned(), "water".to_owned()]);
    assert_eq!(generic(&words, "n".to_owned(), 3), [true, false]);
}
