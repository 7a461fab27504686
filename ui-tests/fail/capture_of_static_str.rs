//! A capture of `&'static str`: a static of another process is another static.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let text = "text";
    total.apply(move |total| {
        *total += 1;
        let _ = text.len();
    });
}
