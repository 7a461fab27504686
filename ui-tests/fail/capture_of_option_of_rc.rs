//! A capture of an `Option` that hides an `Rc`.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0u64);
    let maybe = Some(std::rc::Rc::new(5u64));
    total.apply(move |total| {
        *total += 1;
        let _ = maybe.is_some();
    });
}
