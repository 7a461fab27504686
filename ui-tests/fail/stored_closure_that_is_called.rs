//! A closure that captures, and is called besides being delegated.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    let by = 5;
    let add = move |total: &mut u64| *total += by;
    add(&mut 1);
    total.apply(add);
}
