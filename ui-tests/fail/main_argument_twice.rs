//! An argument that is given twice.

#[gossamer::main(threads = 4, threads = 5)]
fn main() {}
