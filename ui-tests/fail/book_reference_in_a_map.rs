use std::collections::HashMap;

#[gossamer::main]
fn main() {
    let counts = gossamer::entrust(HashMap::<String, u64>::new());
    let word = "hello";
    counts.apply(|counts| *counts.entry(word.to_owned()).or_default() += 1);
}
