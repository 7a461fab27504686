//! All calls of a loop's closure share what it captures, so none can call a method that changes it.

use gossamer::collections::par_for_each;

#[gossamer::main]
fn main() {
    let mut seen = Vec::new();
    par_for_each(0..10, |number| seen.push(number));
    let mut words = vec![String::from("tea")];
    par_for_each(0..10, move |_| words.clear());
}
