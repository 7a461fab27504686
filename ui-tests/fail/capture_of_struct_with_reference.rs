//! A capture of a struct that hides a reference.

struct Word {
    text: &'static str,
}

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0usize);
    let word = Word { text: "text" };
    total.apply(move |total| *total += word.text.len());
}
