//! A closure that is not `move` cannot change what it captures through a method either.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let seen = Vec::new();
    total.apply(|total| seen.push(*total));
}
