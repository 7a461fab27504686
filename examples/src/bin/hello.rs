//! The first program of the README: a fiber greets through a property.

use std::collections::HashMap;

#[gossamer::main]
fn main() {
    let greetings = gossamer::entrust(HashMap::<String, String>::new());
    let who = String::from("World");
    let worker = greetings.clone();
    gossamer::spawn(move || {
        worker.apply(move |g| g.insert("Hello".into(), who)); // blocks this fiber only
        worker.apply_then(|g| g.len(), |n| println!("{n} greeting")); // never blocks
    })
    .join();
}
