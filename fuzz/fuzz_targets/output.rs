//! What nodes print and report: nothing is lost, only line ends are added, and no report can control a terminal.
#![no_main]

use gossamer_cli::node::ending::words;
use gossamer_cli::terminal::lines::{Lines, PrefixStyle};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|pieces: Vec<Vec<u8>>| {
    let (mut raw, mut marked) = (Lines::new(0, PrefixStyle::Raw), Lines::new(0, PrefixStyle::Plain));
    let (mut all, mut printed) = (Vec::new(), Vec::new());
    for piece in &pieces {
        assert!(words(piece).is_none_or(|words| !words.chars().any(char::is_control)));
        all.extend(raw.push(piece));
        printed.extend(marked.push(piece));
    }
    assert_eq!(all, pieces.concat());
    printed.extend(marked.finish());
    let count = |bytes: &[u8], byte| bytes.iter().filter(|&&other| other == byte).count();
    assert_eq!(count(&printed, b'\0'), count(&all, b'\0'));
    assert_eq!(count(&printed, b'x'), count(&all, b'x'));
});
