//! Bytes as what comes to the doors through which a process is looked at.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| gossamer::fuzzing::questions(bytes));
