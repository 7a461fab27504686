//! `#[gossamer::main]` on a generic function.

#[gossamer::main]
fn start<T: Default>() {
    T::default();
}

fn main() {
    start::<u8>();
}
