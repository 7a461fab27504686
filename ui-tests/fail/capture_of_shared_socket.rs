//! An `Arc` of a socket for a fiber.

use gossamer::net::TcpStream;
use std::sync::Arc;

#[gossamer::main]
fn main() {
    let stream = Arc::new(TcpStream::connect("127.0.0.1:80").unwrap());
    let twin = Arc::clone(&stream);
    gossamer::spawn(move || drop(twin)).join();
}
