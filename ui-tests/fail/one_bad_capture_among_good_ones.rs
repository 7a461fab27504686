//! Only the capture at fault is blamed.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let (number, text, list) = (5u64, "text", vec![1u64]);
    total.apply(move |total| {
        *total += 1;
        let _ = (number, text, list);
    });
}
