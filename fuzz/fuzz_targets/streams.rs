//! Bytes as what the other end of a stream sends.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gossamer::fuzzing::streams(bytes));
