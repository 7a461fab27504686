//! The program of Table II of the Gossamer thesis.
//!
//! Its lines are as they are printed there, in Rust's string quotes. What had to be added:
//!
//! - `use`, `#[gossamer::main]` and `fn main`, which the table leaves out;
//! - braces and a semicolon around each `insert`: it returns what was there before, a `&'static str`, and no reference
//!   travels back from a trustee, since another process has other addresses;
//! - `.join()`: when `main` returns, fibers that nobody joined are cancelled.
//!
//! The thesis lets the closure of `spawn` borrow `trust`. Here it needs no `move` either: `#[gossamer::main]` makes it
//! take along what it captures.

use std::collections::HashMap;

#[rustfmt::skip]
#[gossamer::main]
fn main() {
    let property = HashMap::new();
    let trust = gossamer::entrust(property);
    gossamer::spawn(|| {
        trust.apply(|property| { property.insert("First Greeting", "Hello"); });
        trust.apply_then(|property| { property.insert("Second Greeting", "Hi"); },
            |_| println!("added second greeting"));
    })
    .join();
}
