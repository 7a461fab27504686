//! Waiting for anything: futures in fibers, the first of several, all of several, for a limited time; and whatever
//! `gossamer::sync` waits for.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod futures;
mod select;
mod sync;
mod timeouts;
