//! What a fiber returns has to travel to who joins it.

use std::rc::Rc;

#[gossamer::main]
fn main() {
    let _one = gossamer::spawn(|| Rc::new(1_u64)).join();
}
