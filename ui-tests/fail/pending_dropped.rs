//! A request whose result nobody takes, with warnings as errors.
#![deny(unused_must_use)]

#[gossamer::main]
fn main() {
    let total = gossamer::entrust(0_u64);
    total.apply_async(|total| *total += 1);
    gossamer::spawn(|| ());
}
