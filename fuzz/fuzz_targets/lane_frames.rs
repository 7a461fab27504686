//! Bytes as what arrives on a connection of another node.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gossamer::fuzzing::frames(bytes));
