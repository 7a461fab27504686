//! Nothing sends the captures of a loop along in a function that is not marked.

use gossamer::collections::{DistVec, par_for_each};

fn greet(names: &DistVec<String>, greeting: String) {
    names.par_for_each(move |_, name| name.insert_str(0, &greeting));
}

fn count(words: Vec<String>) {
    let say = move |number: usize| println!("{}", words[number]);
    par_for_each(0..3, say);
}

fn main() {
    gossamer::run(gossamer::Config::default(), || {
        greet(&DistVec::filled(3, String::new()), String::from("Hello, "));
        count(Vec::new());
    });
}
