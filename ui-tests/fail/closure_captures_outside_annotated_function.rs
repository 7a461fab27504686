//! A capturing closure in a function without an attribute.

fn add(total: &gossamer::Trust<u64>, n: u64) {
    total.apply(move |total| *total += n);
}

#[gossamer::main]
fn main() {
    add(&gossamer::entrust(0), 5);
}
