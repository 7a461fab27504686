//! A capture of a fiber's closure.

use gossamer::spawn;

#[gossamer::main]
fn main() {
    let (first, second) = ("first", "second");
    gossamer::spawn(move || first.len()).join();
    spawn(move || second.len()).join();
}
