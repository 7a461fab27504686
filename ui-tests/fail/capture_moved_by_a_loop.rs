//! The body of a loop runs many times, and has one value of what it captures.

use gossamer::collections::par_for_each;

#[gossamer::main]
fn main() {
    let (log, name) = (gossamer::entrust(Vec::new()), String::from("Ada"));
    par_for_each(0..10, move |_| log.apply(move |log| log.push(name)));
}
