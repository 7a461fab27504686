//! As one would of tokio: a fiber is started by a closure, and waits for futures by `block_on`.

#[gossamer::main]
fn main() {
    gossamer::spawn(async { 1 }).join();
}
