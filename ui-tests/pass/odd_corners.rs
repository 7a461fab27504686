//! Corners of the language: capitalised variables, constants in patterns, expressions within expressions, loops and blocks that
//! shadow, temporaries that borrow from captures.
#![deny(warnings)]

use gossamer::Trust;

const LIMIT: u64 = 4;

#[derive(Clone, Copy, gossamer::NoRef)]
enum Mode {
    Fast,
    Slow,
}

use Mode::*;

struct Node {
    trust: Trust<u64>,
    factor: u64,
}

impl Node {
    #[gossamer::delegate]
    fn raise(self: &Self, by: u64) -> u64 {
        let Node { trust, factor } = self;
        let factor = *factor;
        trust.apply(move |value| {
            *value += factor * by;
            *value
        })
    }
}

#[allow(non_snake_case)]
#[gossamer::delegate]
fn capitalised(trust: &Trust<u64>) -> u64 {
    let N = 5;
    for A in [1u64, 2] {
        trust.apply(|value| *value += A + N);
    }
    match trust.apply(|value| *value) {
        LIMIT => 0,
        N => trust.apply(move |value| *value + N),
    }
}

#[gossamer::delegate]
fn variants(trust: &Trust<u64>, mode: Mode) -> u64 {
    let Slow = mode else {
        let factor = 3;
        return trust.apply(move |value| *value * factor);
    };
    let more = 2;
    let add = move |extra: u64| trust.apply(move |value| *value + extra + more);
    add(1)
}

/// The tail expression borrows from a capture.
#[gossamer::delegate]
fn first_known(words: &Trust<Vec<String>>, wanted: Vec<String>) -> Option<String> {
    words.apply(move |words| {
        wanted.iter().filter(|word| words.contains(word)).map(|word| word.to_uppercase()).next()
    })
}

#[gossamer::delegate]
fn shadowing(trust: &Trust<u64>, x: u64) -> u64 {
    let x = {
        let x = x + 1;
        trust.apply(move |value| *value + x)
    };
    let y = loop {
        let y = x;
        break trust.apply(move |value| *value + y);
    };
    let z = if let y @ 0..=1000 = y { trust.apply(|value| *value + y) } else { y };
    let w = (|q: u64| trust.apply(move |value| *value + q + z))(1);
    let [a, ref b, ..] = [1u64, 2, 3];
    let b = *b;
    w + trust.apply(|value| {
        let row = [*value; 2];
        row[0] + a + b
    })
}

#[gossamer::main]
fn main() {
    let trust = gossamer::entrust(1u64);
    assert_eq!(Node { trust: trust.clone(), factor: 2 }.raise(3), 7);
    assert_eq!(capitalised(&trust), 40);
    assert_eq!((variants(&trust, Fast), variants(&trust, Mode::Slow)), (60, 23));
    assert_eq!(shadowing(&trust, 1), 106);
    let words = gossamer::entrust(vec![String::from("a")]);
    assert_eq!(first_known(&words, vec!["b".into(), "a".into()]), Some("A".into()));

    let mut numbers = vec![1u64, 30].into_iter();
    while let Some(number) = numbers.next()
        && trust.apply(move |value| *value > number)
    {
        trust.apply(|value| *value -= number);
    }
    let sums: Vec<u64> = (0..3).map(|index| trust.apply(move |value| *value + index)).collect();
    assert_eq!(sums, [19, 20, 21]);
}
