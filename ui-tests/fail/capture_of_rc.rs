//! A capture of `Rc`.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let shared = std::rc::Rc::new(5u64);
    total.apply(move |total| {
        *total += 1;
        let _ = *shared;
    });
}
