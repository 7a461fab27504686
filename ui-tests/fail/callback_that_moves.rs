//! After rustc's advice, `move`: the list is the callback's, and the documents of `apply_then` say how it is shared.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    let mut seen = Vec::new();
    total.apply_then(|total| *total, move |total| seen.push(total));
    println!("{seen:?}");
}
