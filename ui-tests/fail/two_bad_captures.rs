//! Two mistakes, two errors.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let (first, second) = ("a", std::rc::Rc::new(1));
    total.apply(move |total| {
        *total += 1;
        let _ = (first, second);
    });
}
