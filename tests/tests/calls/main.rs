//! Fibers and calls in all their forms: local, scoped and cancelled fibers, latches that are read or held together, replies, replicated
//! values, shards, weak trusts, names, and runtimes that are held by a handle.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod cancelling;
mod captured;
mod embedded;
mod latches;
mod local;
mod names;
mod refused;
mod replicated;
mod replies;
mod scope_failures;
mod shards;
mod weak;
