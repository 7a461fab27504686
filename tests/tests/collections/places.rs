//! Where errors say that they come from: the program's own lines, and never the library's.

use gossamer::collections::{self, DistMap, DistQueue, DistSet, DistVec, Entries, Frontier, Layout};
use gossamer::{Latch, Sharded, Workers};
use integration_tests::{isolated, panic_text, workers};
use std::cmp::Ordering::Less;
use std::panic;
use std::sync::Mutex;

/// A call whose closure panics for one of the elements.
type Call = (&'static str, fn());

fn numbers() -> DistVec<u64> {
    DistVec::from_fn(100, |index| index as u64)
}

fn map() -> DistMap<u64, u64> {
    (0..100).map(|key| (key, key)).collect()
}

fn check(number: u64) -> u64 {
    assert_ne!(number, 70, "seventy");
    number
}

const CALLS: &[Call] = &[
    ("update", || _ = numbers().update(70, |number| check(*number))),
    ("update_async", || _ = numbers().update_async(70, |number| check(*number)).wait()),
    ("map_all", || {
        drop(numbers().map_all(|elements| elements.iter().map(|number| check(*number)).sum::<u64>()))
    }),
    ("from_fn", || drop(DistVec::from_fn(100, |index| check(index as u64)))),
    ("from_fn, cyclic", || drop(DistVec::from_fn(Layout::cyclic(100), |index| check(index as u64)))),
    ("par_for_each", || numbers().par_for_each(|_, number| *number = check(*number))),
    ("par_map", || drop(numbers().par_map(|_, number| check(*number)))),
    ("par_filter", || drop(numbers().par_filter(|_, number| check(*number) > 3))),
    ("par_fold", || drop(numbers().par_fold(0, |sum, _, number| sum + check(*number)))),
    ("par_scan", || _ = numbers().par_scan(|one, other| check(one).max(check(other)))),
    ("par_reduce", || _ = numbers().par_reduce(|one, other| check(one).max(check(other)))),
    ("par_map_reduce", || _ = numbers().par_map_reduce(|_, number| check(*number), |one, other| one + other)),
    ("par_map_reduce, of results", || {
        _ = numbers().par_map_reduce(|_, number| *number, |_, _| -> u64 { panic!("seventy") });
    }),
    ("par_chunks", || numbers().par_chunks(7, |_, chunk| chunk.iter().for_each(|number| _ = check(*number)))),
    ("par_zip", || numbers().par_zip(&numbers(), |_, one, other| *one += check(*other))),
    ("par_group_by", || drop(numbers().par_group_by(|_, number| check(*number) % 3))),
    ("par_sort_by", || numbers().par_sort_by(|one, other| check(*one).cmp(&check(*other)))),
    ("par_sort_unstable_by_key", || numbers().par_sort_unstable_by_key(|number| check(*number))),
    ("updates", || {
        let numbers = numbers();
        let mut updates = numbers.updates(|number, by: u64| *number = check(*number) + by);
        (0..100).for_each(|index| updates.push(index, 1));
        updates.finish();
    }),
    ("updates, tried", || {
        let numbers = numbers();
        let mut updates = numbers.updates(|number, by: u64| *number = check(*number) + by);
        (0..100).for_each(|index| updates.push(index, 1));
        let error = updates.try_finish().unwrap_err();
        panic!("{error}");
    }),
    ("a search", || {
        let (numbers, rows) = (numbers(), numbers());
        let mut front = Frontier::of(&numbers);
        front.mark(70);
        front.swap();
        front.par_for_each(&rows, |_, _, row, out| out.push(1, check(*row))).apply(|_, _, _| ());
    }),
    ("a search's second closure", || {
        let (numbers, rows) = (numbers(), numbers());
        let mut front = Frontier::of(&numbers);
        front.mark(70);
        front.swap();
        front
            .par_for_each(&rows, |_, _, row, out| out.push(70, *row))
            .apply(|number, _, _| _ = check(*number));
    }),
    ("mark_where", || Frontier::of(&numbers()).mark_where(|_, number| check(*number) == 3)),
    ("a loop over numbers", || collections::par_for_each(0..100, |number| _ = check(number as u64))),
    ("a fold of numbers", || {
        drop(collections::par_fold(0..100, 0, |sum, number| sum + check(number as u64)))
    }),
    ("a reduction of numbers", || {
        _ = collections::par_map_reduce(0..100, |number| check(number as u64), |one, other| one + other);
    }),
    ("a queue", || {
        let queue = DistQueue::new();
        queue.extend(0..100_u64);
        queue.par_for_each(|number, _| _ = check(number));
    }),
    ("DistMap::apply", || _ = map().apply(70, |number| check(*number))),
    ("DistMap::update", || _ = map().update(70, 0, |number| check(*number))),
    ("DistMap::update_async", || _ = map().update_async(70, 0, |number| check(*number)).wait()),
    ("DistMap::map_all", || {
        drop(map().map_all(|entries: &mut Entries<u64, u64>| entries.get(&70).map(|number| check(*number))));
    }),
    ("DistMap::par_for_each", || map().par_for_each(|_, number| _ = check(*number))),
    ("DistMap::par_map", || drop(map().par_map(|_, number| check(*number)))),
    ("DistMap::par_filter", || drop(map().par_filter(|_, number| check(*number) > 3))),
    ("DistMap::par_fold", || drop(map().par_fold(0, |sum, _, number| sum + check(*number)))),
    ("DistMap::par_map_reduce", || {
        _ = map().par_map_reduce(|_, number| check(*number), |one, other| one + other)
    }),
    ("DistMap::retain", || map().retain(|_, number| check(*number) > 3)),
    ("DistMap::updates", || {
        let map = map();
        let mut updates = map.updates(0, |number, by: u64| *number = check(*number) + by);
        (0..100).for_each(|key| updates.push(key, 1));
        updates.finish();
    }),
    ("DistMap::merges", || {
        let map = map();
        let mut merges = map.merges(|number, by| *number = check(*number) + by);
        (0..100).for_each(|key| merges.push(key, 1));
        merges.finish();
    }),
    ("DistMap::par_largest", || {
        drop((0..100).map(|key| (key, Bad(key))).collect::<DistMap<u64, Bad>>().par_largest(3))
    }),
    ("DistVec::par_largest", || drop(DistVec::from_fn(100, |index| Bad(index as u64)).par_largest(3))),
    ("DistVec::par_sort", || DistVec::from_fn(100, |index| Bad(index as u64)).par_sort()),
    ("DistVec::get", || _ = DistVec::from_fn(100, |index| Bad(index as u64)).get(70)),
    ("DistVec::gather", || drop(DistVec::from_fn(100, |index| Bad(index as u64)).gather(0..100))),
    ("DistVec::to_vec", || drop(DistVec::from_fn(100, |index| Bad(index as u64)).to_vec())),
    ("DistMap::chunks", || {
        drop((0..100).map(|key| (key, Bad(key))).collect::<DistMap<u64, Bad>>().chunks().collect::<Vec<_>>());
    }),
    ("DistSet::chunks", || drop((0..100).map(Bad).collect::<DistSet<Bad>>().chunks().collect::<Vec<_>>())),
    ("Sharded::map_all", || drop(Sharded::<u64, u64>::new().map_all(|number| check(*number + 70)))),
    ("Sharded::apply_batch", || {
        let add = |number: &mut u64, _: u64, by: u64| check(*number + by);
        drop(Sharded::<u64, u64>::new().apply_batch([(1, 3), (2, 70)], add));
    }),
    ("Workers::each", || drop(Workers::all().each(|member| check(member.index() as u64 + 69)))),
    ("spawn", || _ = gossamer::spawn(|| check(70)).join()),
    ("spawn_many_with", || {
        drop(gossamer::spawn_many_with(3, |number, by: usize| check((number + by) as u64), 68).join())
    }),
    ("Latch::launch", || _ = gossamer::entrust(Latch::new(70)).launch(|number| check(*number))),
    ("DistVec::filled", || drop(DistVec::filled(100, Bad(70)))),
];

/// What cannot be compared or cloned if it is 70.
#[derive(gossamer::NoRef, PartialEq, Eq, Hash)]
struct Bad(u64);

impl Clone for Bad {
    fn clone(&self) -> Self {
        Self(check(self.0))
    }
}

impl PartialOrd for Bad {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Bad {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (check(self.0), check(other.0)).0.cmp(&other.0).then(Less)
    }
}

#[test]
fn errors_of_closures_name_lines_of_the_program_and_none_of_the_library() {
    static FILE: Mutex<String> = Mutex::new(String::new());
    isolated(|| {
        gossamer::run(workers(2), || {
            panic::set_hook(Box::new(|info| {
                *FILE.lock().unwrap() = info.location().map(|at| at.to_string()).unwrap_or_default();
            }));
            let mut wrong = Vec::new();
            for (name, call) in CALLS {
                let text = panic_text(call);
                let at = FILE.lock().unwrap().clone();
                // An iterator is called by the standard library.
                let is_iterator = name.ends_with("chunks") && name.starts_with("Dist");
                let names_library =
                    text.contains("gossamer/src") || !(at.starts_with(file!()) || is_iterator);
                if !text.contains("seventy") || names_library {
                    wrong.push(format!("{name}, at {at}: {text}"));
                }
            }
            drop(panic::take_hook());
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        });
    });
}
