//! What attacks on the library found, each find as a test.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod closures;
