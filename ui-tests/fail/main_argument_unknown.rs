//! An argument that `#[gossamer::main]` does not know.

#[gossamer::main(workers = 4)]
fn main() {}
