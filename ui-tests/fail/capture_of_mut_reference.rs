//! A capture of `&mut T`.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let mut number = 5u64;
    let reference = &mut number;
    total.apply(move |total| {
        *total += 1;
        *reference += 1;
    });
}
