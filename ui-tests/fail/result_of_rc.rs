//! A result that does not travel.

use std::rc::Rc;

#[gossamer::main]
fn main() {
    let shared = gossamer::entrust(Rc::new(5));
    let _copy = shared.apply(|shared| Rc::clone(shared));
}
