//! All workers of a node read one copy, so it has to be `Sync`.

use gossamer::Replicated;
use std::cell::Cell;

#[gossamer::main]
fn main() {
    let hits = Replicated::new(Cell::new(0));
    hits.read().set(1);
}
