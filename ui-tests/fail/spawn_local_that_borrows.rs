//! A fiber that nobody has to join borrows nothing; in a `scope` it may.

#[gossamer::main]
fn main() {
    let list = vec![1, 2, 3];
    gossamer::spawn_local(|| println!("{}", list.len())).join();
}
