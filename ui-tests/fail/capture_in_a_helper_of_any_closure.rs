//! A helper that takes any closure cannot see what that captures: it takes the captures apart from it.

use gossamer::Trust;

fn twice<F: FnOnce(&mut u64) + Send + Copy>(count: &Trust<u64>, f: F) {
    count.apply(f);
    count.apply(f);
}

#[gossamer::main]
fn main() {
    let by = 3;
    twice(&gossamer::entrust(0), move |count| *count += by);
}
