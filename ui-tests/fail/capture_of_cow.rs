//! A capture of a `Cow`, which may hold a reference.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let text = std::borrow::Cow::Borrowed("text");
    total.apply(move |total| {
        *total += 1;
        let _ = text.len();
    });
}
