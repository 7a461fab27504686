//! Runs the example programs as their users do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod child;
mod others;
mod streams;
mod word_count;
