//! A capture of a raw pointer.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let number = 5u64;
    let pointer = &raw const number;
    total.apply(move |total| {
        *total += 1;
        let _ = pointer;
    });
}
