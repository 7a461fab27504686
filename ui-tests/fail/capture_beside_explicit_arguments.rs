//! A closure that is handed its arguments, and captures all the same.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    let (one, other) = (1, 2);
    total.apply_with(move |total, one| *total += one + other, one);
}
