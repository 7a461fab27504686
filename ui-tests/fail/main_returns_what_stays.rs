//! What a function below `#[gossamer::main]` returns leaves the worker's thread.

use std::rc::Rc;

#[gossamer::main]
fn answer() -> Rc<u64> {
    Rc::new(1)
}

fn main() {
    let _answer = answer();
}
