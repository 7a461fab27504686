//! A capture that is mentioned only in a format string.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let text = "text";
    total.apply(move |total| {
        *total += 1;
        println!("{text}");
    });
}
