//! `#[gossamer::delegate]` takes no arguments.

#[gossamer::delegate(all)]
fn add(total: &gossamer::Trust<u64>, n: u64) {
    total.apply(move |total| *total += n);
}

fn main() {
    add(&gossamer::entrust(0), 1);
}
