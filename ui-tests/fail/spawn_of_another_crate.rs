//! A bare `spawn` that is not gossamer's.

use std::thread::spawn;

#[gossamer::main]
fn main() {
    let n = 5;
    let _ = spawn(move || n + 1);
}
