//! Runs the example programs as their users do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod child;
mod client;
mod computing;
mod nodes;
mod others;
mod servers;
mod streams;
#[cfg(feature = "tls")]
mod tls;
mod web;
mod word_count;
