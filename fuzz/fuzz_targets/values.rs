//! Bytes as values and messages of another node.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gossamer::fuzzing::values(bytes));
