//! A capture of a `Vec` that hides references.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let words = vec!["a", "b"];
    total.apply(move |total| {
        *total += 1;
        let _ = words.len();
    });
}
