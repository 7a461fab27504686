//! The closures of teams, maps and sets capture where the macros see what they are called on.
#![deny(warnings)]

use gossamer::collections::{DistMap, DistSet};
use gossamer::{Trustee, Workers};

#[gossamer::main(threads = 2)]
fn main() {
    let by = 10;
    let name = String::from("abc");
    assert_eq!(Workers::all().each(|member| member.index() + by), [10, 11]);
    let some = Workers::on(&Trustee::all()[1..]);
    assert_eq!(
        some.each({
            let name = name.clone();
            move |member| format!("{name}{}", member.index())
        }),
        ["abc0"]
    );
    assert_eq!(some.each_with(|member, name| name + &member.index().to_string(), name.clone()), ["abc0"]);
    assert_eq!(Workers::each(&some, |member| member.index() + by), [10]);
    let sums = Workers::all().each(|member| member.all_reduce(member.index() + by, |one, other| one + other));
    assert_eq!(sums, [21, 21]);
    let map: DistMap<u64, u64> = DistMap::new();
    map.extend((0..10).map(|i| (i, i)));
    let limit = 5;
    map.retain(|key, _| *key < limit);
    assert_eq!(map.len(), 5);
    map.retain(|key, value| {
        *value += 1;
        *key < 4
    });
    assert_eq!(map.len(), 4);
    keep(&map, 3);
    assert_eq!((map.len(), map.get(2)), (3, Some(4)));
    let set = DistSet::new();
    set.extend(["a".to_owned(), name.clone()]);
    set.retain(|key| *key == name);
    set.clone().retain(|key| key.len() > 1);
    assert_eq!(set.len(), 1);
    let mut numbers = vec![1, 2, 3];
    numbers.retain(|n| *n < limit - 2);
    assert_eq!(numbers, [1, 2]);
}

#[gossamer::delegate]
fn keep(map: &DistMap<u64, u64>, least: u64) {
    map.retain(|key, value| {
        *value += 1;
        *key < least
    });
}
