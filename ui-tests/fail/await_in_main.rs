//! `main` is a fiber, and no async function: it waits by `wait()` or `block_on`.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    println!("{}", total.apply_async(|total| *total).await);
}
