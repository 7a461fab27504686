//! A number of workers that is none.

#[gossamer::main(threads = 0)]
fn main() {}

#[gossamer::main(threads = "two")]
fn text() {}

#[gossamer::main(threads)]
fn nothing() {}

#[gossamer::main(threads(2))]
fn list() {}

const SOME: Option<usize> = None;

#[gossamer::main(threads = SOME)]
fn option() {}
