//! What was read stays with its reader: the handle travels.

use gossamer::Replicated;

#[gossamer::main]
fn main() {
    let limits = Replicated::new(vec![1, 2, 3]);
    let now = limits.read();
    gossamer::spawn(move || now.len()).join();
}
