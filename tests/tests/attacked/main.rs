//! Programs that broke the library once, or tried to.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by it")]

mod destructors;
mod endings;
mod said;
mod stalls;
mod thread_locals;
mod wakers;
