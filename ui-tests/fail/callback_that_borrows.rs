//! A callback outlives the call, so it cannot borrow.

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    let mut seen = Vec::new();
    total.apply_then(|total| *total, |total| seen.push(total));
    println!("{seen:?}");
}
