//! A capture of `&T`.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let number = 5u64;
    let reference = &number;
    total.apply(move |total| {
        *total += 1;
        let _ = reference;
    });
}
