//! A closure that takes its captures as arguments, and still captures another variable.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    let (one, other) = (1, 2);
    total.apply_with(move |total, one| *total += one + other, one);
}
