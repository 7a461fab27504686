//! `#[gossamer::main]` on something else than a function.

#[gossamer::main]
struct Main;

fn main() {}
