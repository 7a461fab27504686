//! Assignments to captured variables in a closure that is not `move` would be lost.

#[gossamer::main]
fn main() {
    let counter = gossamer::entrust(1u64);
    let mut total = 0;
    let mut pair = (0, [0; 2]);
    let mut last = 0;
    counter.apply(|counter| {
        total += *counter;
        total += 1;
    });
    counter.apply(|counter| pair.1[0] = *counter);
    counter.apply(|counter| std::mem::swap(&mut last, counter));
    counter.apply(|counter| (total, last) = (*counter, *counter));
    println!("{total} {pair:?} {last}");
}
