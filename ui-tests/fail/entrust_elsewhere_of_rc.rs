//! A property that is not `Send` is made where it lives.

use gossamer::Trustee;
use std::rc::Rc;

#[gossamer::main]
fn main() {
    let _shared = Trustee::all()[0].entrust(Rc::new(1));
}
