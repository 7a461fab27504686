//! What a user reads: results of `main`, and messages about mistakes that the compiler does not find.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod mistakes;
mod results;
mod standstill;
