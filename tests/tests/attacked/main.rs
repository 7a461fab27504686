//! What attacking programs have found: each find is a test, so that the next change meets it again.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod backtraces;
mod closures;
mod destructors;
mod endings;
mod inspected;
mod refused;
mod runtimes;
mod said;
mod stalls;
mod thread_locals;
mod through_std;
mod wakers;
