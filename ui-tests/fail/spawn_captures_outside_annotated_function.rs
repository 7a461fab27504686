//! A fiber's closure that captures, in a function without an attribute.

fn start(n: u64) {
    gossamer::spawn(move || n + 1).join();
}

#[gossamer::main]
fn main() {
    start(5);
}
