//! A closure that is not `move` would lose what it puts into a collection, and a loop's closure shares that.

use std::collections::HashSet;

use gossamer::collections::par_for_each;

#[gossamer::main]
fn main() {
    let numbers = gossamer::entrust(vec![3u64, 1, 2]);
    let mut seen = Vec::new();
    numbers.apply(|numbers| seen.extend(numbers.iter().copied()));
    let mut set: HashSet<u64> = numbers.apply(|numbers| numbers.iter().copied().collect());
    numbers.apply(|numbers| numbers.iter().for_each(|number| _ = set.insert(*number)));
    let mut sums = [0; 3];
    numbers.apply(|numbers| sums.copy_from_slice(numbers));
    let mut text = String::new();
    par_for_each(0..10, move |_| text.push('a'));
    println!("{seen:?} {set:?} {sums:?}");
}
