//! A capture of a `fn` pointer.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let function: fn(u64) -> u64 = |n| n + 1;
    total.apply(move |total| {
        *total += 1;
        let _ = function(1);
    });
}
