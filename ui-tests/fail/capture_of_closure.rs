//! A capture of a closure, which may itself capture anything.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let double = |n: u64| n * 2;
    total.apply(move |total| {
        *total += 1;
        let _ = double(1);
    });
}
