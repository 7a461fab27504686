//! What attacks by programs have found, each find as a test, so that the next change meets them again.
#![allow(clippy::unwrap_used, reason = "a test fails by it")]

mod refused;
mod runtimes;
