//! A capture of `Arc`.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let shared = std::sync::Arc::new(5u64);
    total.apply(move |total| {
        *total += 1;
        let _ = *shared;
    });
}
