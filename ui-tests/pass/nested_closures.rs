//! Captures of closures inside delegated closures, of callbacks, and of delegated closures inside delegated closures.
#![deny(warnings)]

use std::cell::Cell;
use std::rc::Rc;

/// Lets other fibers and callbacks run until `done`.
fn wait_until(done: impl Fn() -> bool) {
    while !done() {
        gossamer::yield_now();
    }
}

#[gossamer::main]
fn main() {
    let words = gossamer::entrust(vec![String::from("a"), String::from("bb")]);

    // Used only by a closure inside.
    let longest = 1;
    assert_eq!(words.apply(|words| words.iter().filter(|word| word.len() > longest).count()), 1);

    // A callback may capture anything that is `'static`; it is not delegated.
    let seen = Rc::new(Cell::new(0));
    let by_callback = seen.clone();
    let offset = 10;
    words.apply_then(|words| words.len() + offset, move |count| by_callback.set(count + offset));
    wait_until(|| seen.get() == 22);

    // A delegation inside a callback, and one inside a delegated closure: what the inner one captures, the outer one does too.
    let log = gossamer::entrust(Vec::<String>::new());
    let (outer_log, inner_log) = (log.clone(), log.clone());
    let name = String::from("name");
    words.apply_then(
        move |words| {
            outer_log.apply_then(move |log| log.push(name), |()| ());
            words.len()
        },
        move |count| inner_log.apply_then(move |log| log.push(count.to_string()), |()| ()),
    );
    wait_until(|| log.apply(|log| log.len()) == 2);
    assert_eq!(log.apply(|log| log.join(" ")), "name 2");

    // Captured through three levels.
    let (a, b) = (log.clone(), words.clone());
    let text = String::from("deep");
    words.apply_then(
        move |words| {
            words.clear();
            a.apply_then(
                move |log| {
                    log.clear();
                    drop(b);
                    log.push(text);
                },
                |()| (),
            );
        },
        |()| (),
    );
    wait_until(|| log.apply(|log| log.concat()) == "deep");

    // The callback of a call whose delegated function is a path captures as it likes.
    let late = seen.clone();
    words.apply_then(Vec::clear, move |()| late.set(99));
    wait_until(|| seen.get() == 99);
}
