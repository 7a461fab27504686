//! Methods that take the captures as arguments.

use gossamer::Trustee;

#[gossamer::main]
fn main() {
    let name = String::from("list");
    let _list = Trustee::here().entrust_with(|()| vec![name.clone()], ());
    let factor = 3;
    let _many = gossamer::spawn_many_with(4, move |number, ()| number * factor, ());
}
