//! A capture of `Box<dyn Trait>`.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let shown: Box<dyn std::fmt::Display + Send> = Box::new(5u64);
    total.apply(move |total| {
        *total += 1;
        let _ = shown.to_string();
    });
}
