//! A delegated closure that never returns needs a type for what it does not.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    total.apply(|_| panic!("as asked for"));
}
