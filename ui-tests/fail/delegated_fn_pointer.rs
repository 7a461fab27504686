//! A `fn` pointer is not a constant: the function is named instead.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    let reset: fn(&mut u64) = |total| *total = 0;
    total.apply(reset);
}
