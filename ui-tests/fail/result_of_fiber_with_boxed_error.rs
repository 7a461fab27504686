//! An error that is not `Send + Sync` does not travel; the message names the one that does.

use std::error::Error;

#[gossamer::main]
fn main() {
    let _number = gossamer::spawn(|| -> Result<u64, Box<dyn Error>> { Ok("7".parse()?) }).join();
}
