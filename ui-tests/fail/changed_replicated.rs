//! A replicated value is replaced, and not changed in its place.

use gossamer::Replicated;

#[gossamer::main]
fn main() {
    let limits = Replicated::new(vec![1, 2, 3]);
    limits.read().push(4);
}
